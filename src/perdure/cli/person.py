"""`perdure person`: what sources show of people (observations), and what curators conclude (reconstructions)."""

import typer

from perdure.cli import person_acts, person_export, person_find, person_import, person_look, person_make, person_revise

app = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode="markdown",
    help="""Persons: what sources show of them, and what curators conclude.

    An observation (POID) is what one source said at one moment, and never changes. A reconstruction (PRID) is what
    somebody concludes from observations; it is revised, merged and split, and every version stays readable.""",
)

EXAMPLES = """
**Examples, from a source to a person**

- `perdure person observe https://example.org/staff/jan --at 2025-01-09T10:30:00Z --content page.html
  --claim name="Jan de Vries" --claim birth_date=1895-03~`
- `perdure person show POID-…` numbers the claims
- `perdure person reconstruct --observation POID-… --claim POID-…:1,2
  --curator https://orcid.org/0000-0002-1825-0097 --at 2025-01-10T09:00:00Z`
- `perdure person show PRID-…`
"""

SAY = "Say what sources show, and conclude"
ACTS = "Acts that can be taken back"
FIND = "Look"
LAW = "For good"

app.command(rich_help_panel=SAY, epilog=person_make.OBSERVE_EXAMPLES)(person_make.observe)
app.command("import", rich_help_panel=SAY, epilog=person_import.IMPORT_EXAMPLES)(person_import.import_)
app.command(rich_help_panel=SAY, epilog=person_make.RECONSTRUCT_EXAMPLES)(person_make.reconstruct)
app.command(rich_help_panel=SAY, epilog=person_revise.EXAMPLES)(person_revise.revise)
app.command(rich_help_panel=FIND, epilog=person_look.SHOW_EXAMPLES)(person_look.show)
app.command(rich_help_panel=FIND, epilog=person_look.HISTORY_EXAMPLES)(person_look.history)
app.command(rich_help_panel=FIND, epilog=person_find.EXAMPLES)(person_find.find)
app.command(rich_help_panel=FIND, epilog=person_export.EXAMPLES)(person_export.export)
app.command(rich_help_panel=ACTS, epilog=person_acts.MERGE_EXAMPLES)(person_acts.merge)
app.command(rich_help_panel=ACTS, epilog=person_acts.SPLIT_EXAMPLES)(person_acts.split)
app.command(rich_help_panel=ACTS, epilog=person_acts.UNDO_EXAMPLES)(person_acts.undo)
app.command(rich_help_panel=ACTS, epilog=person_acts.RESTRICT_EXAMPLES)(person_acts.restrict)
app.command(rich_help_panel=ACTS, epilog=person_acts.LIFT_EXAMPLES)(person_acts.lift)
app.command(rich_help_panel=LAW, epilog=person_acts.REDACT_EXAMPLES)(person_acts.redact)

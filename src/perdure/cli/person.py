"""`perdure person`: observations from sources, and reconstructions by curators."""

from perdure.cli import (
    person_create,
    person_curation,
    person_export,
    person_find,
    person_import,
    person_revise,
    person_show,
)
from perdure.cli.help import CommandGroup

app = CommandGroup(
    help="""Manage person identifiers: observations (POID) and reconstructions (PRID).

    An observation is the description of a person in one source at one time. It never changes. A reconstruction is a
    curator's conclusion from observations. It can be revised, merged and split, and every version stays readable.""",
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

RECORD = "Record observations and reconstructions"
CURATE = "Curate (can be undone)"
FIND = "Find and show"
PRIVACY = "Redact (cannot be undone)"

app.command(rich_help_panel=RECORD, epilog=person_create.OBSERVE_EXAMPLES)(person_create.observe)
app.command("import", rich_help_panel=RECORD, epilog=person_import.IMPORT_EXAMPLES)(person_import.import_)
app.command(rich_help_panel=RECORD, epilog=person_create.RECONSTRUCT_EXAMPLES)(person_create.reconstruct)
app.command(rich_help_panel=RECORD, epilog=person_revise.EXAMPLES)(person_revise.revise)
app.command(rich_help_panel=FIND, epilog=person_show.SHOW_EXAMPLES)(person_show.show)
app.command(rich_help_panel=FIND, epilog=person_show.HISTORY_EXAMPLES)(person_show.history)
app.command(rich_help_panel=FIND, epilog=person_find.EXAMPLES)(person_find.find)
app.command(rich_help_panel=FIND, epilog=person_export.EXAMPLES)(person_export.export)
app.command(rich_help_panel=CURATE, epilog=person_curation.MERGE_EXAMPLES)(person_curation.merge)
app.command(rich_help_panel=CURATE, epilog=person_curation.SPLIT_EXAMPLES)(person_curation.split)
app.command(rich_help_panel=CURATE, epilog=person_curation.UNDO_EXAMPLES)(person_curation.undo)
app.command(rich_help_panel=CURATE, epilog=person_curation.RESTRICT_EXAMPLES)(person_curation.restrict)
app.command(rich_help_panel=CURATE, epilog=person_curation.LIFT_EXAMPLES)(person_curation.lift)
app.command(rich_help_panel=PRIVACY, epilog=person_curation.REDACT_EXAMPLES)(person_curation.redact)

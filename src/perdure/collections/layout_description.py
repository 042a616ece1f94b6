"""What a collection says about itself: the declaration of OCFL, and a text for people without this program."""

from typing import Final

ROOT_DECLARATION: Final = "ocfl_1.1\n"
DESCRIPTION_NAME: Final = "perdure-collection.md"
CONFIG: Final = b'{\n  "extensionName": "perdure-collection"\n}\n'
DESCRIPTION: Final = """\
# This directory is a collection of items

It is an OCFL 1.1 storage root (https://ocfl.io/1.1/spec/). Each item is an OCFL object. This text describes how the
directories are named. It is the documentation of the local OCFL extension `perdure-collection`.

## Where an item is

The name of an item is its label: a repository name of four parts, or an opaque label (IBIp) of two parts. The parts,
in lower case, are the names of nested directories. The last directory is the OCFL object.

| label | directory |
|---|---|
| `sid.inpe.br/mtc-m18/2009/02.16.17.46` | `sid.inpe.br/mtc-m18/2009/02.16.17.46` |
| `sid.inpe.br/mtc-m18@80/2009/02.16.17.46` | `sid.inpe.br/mtc-m18=u004080/2009/02.16.17.46` |
| `8JMKD3MGP8W/34PGRBS` | `8jmkd3mgp8w/34pgrbs` |

`=uXXXX` stands for the character with this hexadecimal code. It is written for

- every character that is not a letter from a to z, a digit, a hyphen or a full stop. Of labels whose case matters (the
  base-53 labels from before 2008), these are also all capitals;
- the first character of a name that Windows reserves for devices (`con`, `nul`, `com1`, also before a full stop);
- a full stop at the end of a name;
- the first character of a repository name whose first two parts are a valid opaque label.

The `id` in `inventory.json` is the label itself.

## How to read an item by hand

1. `inventory.json` lists the versions. `head` is the newest one.
2. The `state` of a version maps digests (SHA-512) to the names of its files.
3. The `manifest` maps the same digests to the content on disk, for example `v1/content/report.pdf`.
4. `sha512sum` of the content is the digest.

In the names of content, `=uXXXX` is used in the same way, for characters that Windows does not accept. The names in
the `state` are the original ones.

`extensions/perdure-media-types/vN.json` in an object lists media types of version N that the names do not say.

## Other directories

`extensions/perdure-collection/staging` has unfinished work, and `extensions/perdure-collection/locks` has locks. Both
can be deleted when no program is using the collection.
"""

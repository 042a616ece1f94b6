"""Judge a storage root with ocfl-py, in its own environment: print what is wrong, exit with 1 if anything is."""

import sys


def judge(root: str) -> int:
    import ocfl  # it is in another environment

    store = ocfl.StorageRoot(root=root)
    is_valid = store.validate(log_warnings=False)
    print(store.log.status_str())
    for path, message in store.errors:
        print(path, message)
    print(store.num_objects)
    return 0 if is_valid and store.good_objects == store.num_objects else 1


if __name__ == "__main__":
    sys.exit(judge(sys.argv[1]))

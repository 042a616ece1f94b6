from tests.folder.registry_folders import any_registry, maker, minting_registry, registry_folder

__all__ = ["any_registry", "maker", "minting_registry", "registry_folder"]

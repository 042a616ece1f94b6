from tests.folder.grounds import anywhere, grounds, minting, place

__all__ = ["anywhere", "grounds", "minting", "place"]

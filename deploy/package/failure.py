class Failure(Exception):
    """An expected one, for the person who runs scripts/package."""

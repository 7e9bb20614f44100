"""What a log has, whatever base goes before it."""


def entries_of(log):
    """All entries, also where the log has let go of its beginning: then nothing could be gone on from with it alone."""
    return [entry for group in log.groups for entry in log.read(group)]

"""The store room: versions of pages kept in memory or on disk, behind one contract."""

"""The mathematics of learning from points: objectives, certificates and solvers as steps over shards. Nothing here knows of loops."""

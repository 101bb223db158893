"""Sites as tables, to be studied: Snapshot, its measures and their charts. Needs the extra `analysis`."""

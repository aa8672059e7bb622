"""The tables of the embedded ledger, and how those of its earlier versions become them."""

VERSION = 3
WITHOUT_GROUPS = 2
"""The version before a ledger knew of groups ..."""
WITHOUT_OWNER = 1
"""... and that before it knew its key."""
OWNER = "CREATE TABLE owner (one INTEGER PRIMARY KEY CHECK (one = 1), key TEXT NOT NULL);"
GROUPS = """
CREATE TABLE group_account (name TEXT PRIMARY KEY, record BLOB NOT NULL) WITHOUT ROWID;
CREATE TABLE home (meter TEXT PRIMARY KEY, record BLOB NOT NULL) WITHOUT ROWID;
CREATE TABLE member (
    meter TEXT NOT NULL,
    name TEXT NOT NULL,
    since INTEGER NOT NULL,
    until INTEGER NOT NULL,
    nano INTEGER NOT NULL,
    lasting INTEGER NOT NULL,
    PRIMARY KEY (meter, name, since)
) WITHOUT ROWID;
CREATE TABLE frontier (one INTEGER PRIMARY KEY CHECK (one = 1), time INTEGER NOT NULL);
"""
TABLES = f"""
{OWNER}
{GROUPS}
CREATE TABLE account (meter TEXT PRIMARY KEY, record BLOB NOT NULL) WITHOUT ROWID;
CREATE TABLE policy (id TEXT PRIMARY KEY, document TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE input (
    name TEXT PRIMARY KEY,
    head_bytes INTEGER NOT NULL,
    head BLOB NOT NULL,
    line INTEGER NOT NULL,
    clock INTEGER NOT NULL,
    processed INTEGER NOT NULL,
    output TEXT NOT NULL,
    totals TEXT NOT NULL
) WITHOUT ROWID;
CREATE TABLE output (path TEXT PRIMARY KEY, length INTEGER NOT NULL) WITHOUT ROWID;
"""
MISSING = {WITHOUT_OWNER: OWNER + GROUPS, WITHOUT_GROUPS: GROUPS}
"""An earlier version -> the tables that it has not."""

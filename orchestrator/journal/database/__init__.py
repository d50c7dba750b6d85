"""The database itself: its tables, statements, connections, and the files of the embedded one."""

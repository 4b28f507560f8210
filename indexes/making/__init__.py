"""Making snapshots: from files, archives and the web; adding indexes; giving them to others."""

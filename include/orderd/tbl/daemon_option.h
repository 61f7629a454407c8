/* Options of orderd: X(ID, letter or 0, "name", "value", "help in at most 53 columns", "what the manual says").
 * No guard: included once per use. */
X(CONFIG, 'c', "config", "FILE", "configuration file (default /etc/orderd/orderd.conf)",
  "Configuration file (default /etc/orderd/orderd.conf).")
X(INSTANCE, 'i', "instance", "NAME", "name of this replica in logs and connections",
  "Name of this replica, for logs, connections and consumer tags: at most 40 letters, digits, '_', '.' and '-'.")
X(CHECK_CONFIG, 't', "check-config", "", "check configuration and secrets, touch no server, end",
  "Check the configuration and secrets, touch no server, and end.")
X(DUMP_CONFIG, 'T', "dump-config", "", "print the configuration in force, and its places",
  "Print the configuration in force and where each value comes from.")
X(DUMP_DEFAULTS, 0, "dump-defaults", "", "print the commented sample configuration",
  "Print the commented sample configuration.")
X(VERSION, 'V', "version", "", "print the version", "Print the version.")
X(HELP, 'h', "help", "", "print this", "Print a summary.")

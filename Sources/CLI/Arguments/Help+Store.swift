// Help for the commands that work on the queue's files.
extension Help {
    static let fsck = """
        Usage: sluice fsck DIR | FILE [--json]

        Checks the whole queue in a data directory that no gateway uses, or in a backup file: the database's
        structure, each log's checksum and content, and that streams, packets, dead letters and the ledger agree.
        It changes nothing. `sluice serve` repairs damage and moves the damaged file aside.

          --json                  print JSON, for scripts

        Exit code: 0 fine, 1 damaged or unreadable, 2 wrong usage.
        """

    static let backup = """
        Usage: sluice backup FILE [OPTIONS]
               sluice backup - >FILE              for a container

        Copies a snapshot of the queue, with dead letters, ledger and decisions, into a new file, even while the
        gateway runs. It then checks the copy like fsck. FILE appears when it is complete, and only its owner may
        read it, because it holds logs. During the copy, the gateway's WAL grows by the incoming logs.

          --config FILE           the gateway's YAML file               SLUICE_CONFIG
          --data-dir DIR          the directory of its queue            SLUICE_DATA_DIR
          --json                  print JSON, for scripts

        To restore: put it as queue.db into an empty directory and start a gateway with that data_dir. Logs that
        were delivered since the backup are sent again.

        Exit code: 0 copied and checked, 1 failed, 2 wrong usage or configuration.
        """
}

// Help for the commands that work on the queue's files.
extension Help {
    static let fsck = """
        Usage: sluice fsck DIR | FILE [--json]

        Reads the whole queue in a data directory that no gateway uses, or in the file of a copy: the database's
        structure, each log's checksum and content, and whether streams, packets, dead letters and the ledger agree.
        Nothing is changed; what is damaged is mended by `sluice serve`, which keeps the file that it found aside.

          --json                  print JSON, for scripts

        Exit code: 0 fine, 1 damaged or it cannot be read, 2 wrong usage.
        """

    static let backup = """
        Usage: sluice backup FILE [OPTIONS]
               sluice backup - >FILE              out of a container

        Copies the queue as it is at one moment into a new file, dead letters, ledger and decisions with it, also
        while the gateway runs; then reads the copy as fsck does. FILE appears once it is whole, and only its owner
        can read it: it holds logs. Until the copy is written the gateway's own log grows by what comes in.

          --config FILE           the gateway's YAML file               SLUICE_CONFIG
          --data-dir DIR          where its queue lives                 SLUICE_DATA_DIR
          --json                  print JSON, for scripts

        To restore: put it as queue.db into an empty directory and start a gateway with that data_dir. What was
        delivered since is sent once more.

        Exit code: 0 it is there, 1 failed, 2 wrong usage or configuration.
        """
}

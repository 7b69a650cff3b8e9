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

    static let shards = """
        Usage: sluice shards [OPTIONS]
               sluice shards add DIR [OPTIONS]     make the queue of a stopped gateway a shard

        Lists the shards of a cluster: the gateway that has each, its epoch, whether it is a home or an adopted
        shard, and the last entry of its log. It asks the brokers or the database, and needs no running gateway.
        It names what is strange: a log that no gateway claims, a claim whose log is gone.

        `add` moves the queue in a data directory of a gateway with queue.engine: sqlite into the cluster, where a
        running gateway adopts and delivers it. If it is cut off, run it again: no log is delivered twice. The old
        queue stays in the directory under another name.

          --config FILE           a YAML file of the cluster            SLUICE_CONFIG
          --json                  print JSON, for scripts

        Exit code: 0 done, 1 failed or the servers cannot be used, 2 wrong usage or configuration.
        """

    static let restore = """
        Usage: sluice restore SHARD FILE [OPTIONS]
               sluice restore SHARD DIR --take    move the shard out of the cluster

        Reads the log of a shard to its end and writes its queue into a new file, for `sluice fsck` or as queue.db
        of a gateway. It changes nothing in the cluster, so the gateway of the shard goes on meanwhile. FILE appears
        when it is complete, and only its owner may read it, because it holds logs.

        With --take the shard becomes the queue of the data directory DIR, for a gateway with queue.engine: sqlite,
        and is no shard any more. No gateway may have it. If it is cut off, run it again: no log is delivered twice.

          --partial               if the log is damaged, keep what is whole before the damage
          --config FILE           a YAML file of the cluster            SLUICE_CONFIG
          --json                  print JSON, for scripts

        Exit code: 0 restored, 1 failed, or restored in part, 2 wrong usage or configuration.
        """
}

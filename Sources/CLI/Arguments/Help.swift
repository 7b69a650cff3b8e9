import Rendering
import System

/// The texts of `sluice help`.
enum Help {
    static func isWanted(_ word: String) -> Bool {
        word == "--help" || word == "-h"
    }

    static let title = "log forwarding gateway for Alibaba Cloud Simple Log Service (SLS)"
    static let purpose = """
        takes logs from devices without keys, keeps them on disk, and forwards
        them signed to Alibaba Cloud Simple Log Service (SLS).
        """
    static let trial = "To try it without an account: sluice serve --sandbox"

    static var overview: String {
        """
        Sluice \(Version.current): \(purpose)

        Usage: sluice COMMAND [OPTIONS]

        \(list(local))
          --version     print the version

        Commands for a running gateway:

        \(list(remote))

        \(trial)
        """
    }

    private static func list(_ pages: [String: Page]) -> String {
        Command.all.compactMap { command in
            pages[command.name].map { "  \(command.name.padded(to: 14))\($0.summary)" }
        }.joined(separator: "\n")
    }

    /// What is known about a command.
    struct Page {
        let summary: String
        let text: String
    }

    static func of(_ command: Command) -> Page {
        local[command.name] ?? remote[command.name] ?? Page(summary: "", text: "")
    }

    private static let local = pages(program)
    /// For a running gateway.
    private static let remote = pages(operators)

    /// By command. In the source, `== NAME: SUMMARY` begins the text of a command.
    private static func pages(_ text: String) -> [String: Page] {
        let pages = View.sections(of: text).map { title, lines in
            let parts = title.split(separator: ": ", maxSplits: 1).map(String.init)
            return (parts[0], Page(summary: parts[1], text: lines.joined(separator: "\n")))
        }
        return Dictionary(uniqueKeysWithValues: pages)
    }

    // MARK: - What several texts have

    private static let settings = """
          --config FILE           the YAML file with the settings       SLUICE_CONFIG
          --listen ADDRESS        for devices; default :8080            SLUICE_LISTEN
          --admin-listen ADDRESS  for operators; default 127.0.0.1:8081 SLUICE_ADMIN_LISTEN
          --data-dir DIR          the directory of the queue            SLUICE_DATA_DIR
          --log-level LEVEL       debug, info, warning or error         SLUICE_LOG_LEVEL
        """

    static let reach = """
          --config FILE           the gateway's YAML file               SLUICE_CONFIG
          --admin-listen ADDRESS  its admin listener, or                SLUICE_ADMIN_LISTEN
                                  https://NAME:PORT on another machine
          --admin-ca FILE         the authority of its certificate      SLUICE_ADMIN_CA
          --admin-cert FILE       your client certificate               SLUICE_ADMIN_CERT
          --admin-key FILE        the client certificate's key          SLUICE_ADMIN_KEY
          --data-dir DIR          its data directory, for the token     SLUICE_DATA_DIR
          --json                  print JSON, for scripts
        """

    static let token = """
        The admin token comes from SLUICE_ADMIN_TOKEN, SLUICE_ADMIN_TOKEN_FILE, the configuration, or the
        gateway's data directory.
        """

    /// The end of the help for most commands that ask a gateway.
    static let closing = """
        \(reach)

        \(token)

        Exit code: 0 fine, 1 no gateway answers or it refuses, 2 wrong usage or configuration.
        """

    // MARK: - The program and its files

    private static let program = """
        == serve: run the gateway
        Usage: sluice serve [OPTIONS]

        Runs the gateway until SIGTERM or SIGINT. It then delivers for up to drain_timeout and keeps the
        remaining logs on disk; a second signal ends it at once. SIGHUP reloads the configuration.

        \(settings)
          --sandbox               send to a sandbox inside this process instead of SLS, and listen on
                                  127.0.0.1:8080 by default

        An option overrides its environment variable, which overrides the file. Without a file,
        SLUICE_ENDPOINT, SLUICE_PROJECT, SLUICE_LOGSTORE and SLUICE_REGION describe the destination, and
        ALIBABA_CLOUD_ACCESS_KEY_ID, ALIBABA_CLOUD_ACCESS_KEY_SECRET and ALIBABA_CLOUD_SECURITY_TOKEN
        the key. SLUICE_ADMIN_TOKEN or SLUICE_ADMIN_TOKEN_FILE sets the admin token.

        Exit code: 0 stopped by a signal, 1 failed, 2 wrong usage or configuration.
        == check: check the configuration and list its errors
        Usage: sluice check [OPTIONS]

        Reads the configuration like `serve`, and prints a summary or all its errors. With
        queue.engine: jetstream or postgresql it also asks the servers if the queue's commit log is there, or
        could be made.

        \(settings)
          --sandbox               check it for serve --sandbox, which needs no keys
          --offline               ask no server

        Exit code: 0 valid, 1 the servers cannot be used, 2 invalid.
        == sandbox: run an SLS look-alike
        Usage: sluice sandbox [OPTIONS]

        Runs an SLS look-alike. It checks signatures, digests, sizes and limits as SLS documents them,
        and shows the logs that arrive.

          --listen ADDRESS   default 127.0.0.1:8082
          --storage FILE     keep the logs in a file; default: in memory
          --resolver         be a resolver, too: Alibaba's HTTPDNS, Tencent's and DNS over HTTPS. It prints
                             the settings to paste

        Requests must be signed with ALIBABA_CLOUD_ACCESS_KEY_ID and ALIBABA_CLOUD_ACCESS_KEY_SECRET from
        the environment. If they are missing, the sandbox creates and prints a key.
        == fsck: check a whole queue and report damage
        Usage: sluice fsck DIR | FILE [--json]

        Checks the whole queue in a data directory that no gateway uses, or in a backup file: the database's
        structure, each log's checksum and content, and that streams, packets, dead letters and the ledger agree.
        It changes nothing. `sluice serve` repairs damage and moves the damaged file aside.

          --json                  print JSON, for scripts

        Exit code: 0 fine, 1 damaged or unreadable, 2 wrong usage.
        == backup: copy the queue into a file, even while the gateway runs
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
        == shards: list the shards of a cluster, or move a queue there
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
        == restore: write the queue of a shard into a file
        Usage: sluice restore SHARD FILE [OPTIONS]
               sluice restore SHARD DIR --take    move the shard out of the cluster

        Reads the log of a shard to its end and writes its queue into a new file, for `sluice fsck` or as queue.db
        of a gateway. It changes nothing in the cluster, so the gateway of the shard goes on meanwhile. FILE appears
        when it is complete, and only its owner may read it, because it holds logs.

        With --take the shard becomes the queue of the data directory DIR, for a gateway with queue.engine: sqlite,
        and is no shard any more. No gateway may have it. If it is cut off, run it again: no log is delivered twice.

          --take                  move it, instead of a copy
          --partial               if the log is damaged, keep what is whole before the damage
          --config FILE           a YAML file of the cluster            SLUICE_CONFIG
          --json                  print JSON, for scripts

        Exit code: 0 restored, 1 failed, or restored in part, 2 wrong usage or configuration.
        == help: describe a command; help metrics and help settings list all of them
        Usage: sluice help [COMMAND]                  this list, or options and exit codes of a command
               sluice help settings [GROUP | KEY]     all settings of the configuration file, some or one
               sluice help metrics                    all metrics

          --man                   the manual page sluice(1), or sluice.yaml(5) with `settings`
          --schema                with `settings`: the JSON schema of the file. With `settings DestinationPatch`
                                  or `settings DestinationSettings`: of a part of the admin API
          --markdown              with `settings GROUP` or `metrics`: the tables of the pages in docs

        An editor that knows YAML checks the file with the schema: write it to sluice.schema.json, and begin the
        file with the line

          # yaml-language-server: $schema=sluice.schema.json
        == completion: print what makes a shell complete commands
        Usage: sluice completion bash|zsh|fish

        Prints a script with which the shell completes commands, options and their values. bash and zsh load it
        by `source <(sluice completion SHELL)`, fish by `sluice completion fish | source`.
        """
}

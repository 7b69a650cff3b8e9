import System

/// The texts of `sluice help`.
enum Help {
    static func isWanted(_ word: String) -> Bool {
        word == "--help" || word == "-h"
    }

    static let overview = """
        Sluice \(Version.current): takes logs from devices without keys, keeps them on disk, and forwards
        them signed to Alibaba Cloud Simple Log Service.

        Usage: sluice COMMAND [OPTIONS]

          serve      run the gateway
          check      read the configuration and say what is wrong with it
          sandbox    run a look-alike of SLS to send to
          fsck       read a queue from beginning to end and say what is damaged
          backup     copy the queue into a file, also while the gateway runs
          help       tell more about a command
          --version  print the version

        Talking to a running gateway:

          health        whether it answers, for what watches over processes
          status        how it is doing, and the ledger
          rotate        give it a new AccessKey or STS token
          credentials   list, show, verify, forget
          destinations  list, show, set, reset: settings at run time
          pause, resume, flush
                        let a destination send nothing, go on, or send what waits for company
          drain         take no more logs and send what is there
          queue         what waits, of whom, and for how long
          tail          show logs as they are accepted
          dead-letters  logs that SLS does not take: list, show, export, edit, replay, purge

        To see it work without an account: sluice serve --sandbox
        """

    static func of(_ command: Command) -> String {
        switch command {
        case .serve: serve
        case .check: check
        case .sandbox: sandbox
        case .health: health
        case .status: status
        case .rotate: rotate
        case .credentials: credentials
        case .destinations: destinations
        case .pause:
            pausing(
                "pause",
                "Lets it send nothing until it is resumed, also after a restart; its logs wait."
            )
        case .resume: pausing("resume", "Lets it send again.")
        case .flush: pausing("flush", "Lets everything that waits for company be sent as it is.")
        case .drain: drain
        case .tail: tail
        case .queue: queue
        case .fsck: fsck
        case .backup: backup
        case .deadLetters: deadLetters
        }
    }

    private static let settings = """
          --config FILE           the YAML file with the settings       SLUICE_CONFIG
          --listen ADDRESS        for devices, :8080 (every address)    SLUICE_LISTEN
          --admin-listen ADDRESS  for operators, 127.0.0.1:8081         SLUICE_ADMIN_LISTEN
          --data-dir DIR          where the queue lives                 SLUICE_DATA_DIR
          --log-level LEVEL       debug, info, warning or error         SLUICE_LOG_LEVEL
        """

    private static let serve = """
        Usage: sluice serve [OPTIONS]

        Runs the gateway until SIGTERM or SIGINT, which delivers what it can in drain_timeout and keeps
        the rest; a second signal ends it at once. SIGHUP reads the configuration again.

        \(settings)
          --sandbox               send to a sandbox inside this process instead of SLS, and listen on
                                  127.0.0.1:8080 unless told otherwise

        An option beats its environment variable, which beats the file. Without a file, SLUICE_ENDPOINT,
        SLUICE_PROJECT, SLUICE_LOGSTORE and SLUICE_REGION describe the destination, and
        ALIBABA_CLOUD_ACCESS_KEY_ID, ALIBABA_CLOUD_ACCESS_KEY_SECRET and ALIBABA_CLOUD_SECURITY_TOKEN
        the key. SLUICE_ADMIN_TOKEN or SLUICE_ADMIN_TOKEN_FILE give the admin token.

        Exit code: 0 stopped as asked, 1 failed, 2 wrong usage or configuration.
        """

    private static let check = """
        Usage: sluice check [OPTIONS]

        Reads the configuration as `serve` would, and prints what it comes to, or everything that is
        wrong with it.

        \(settings)
          --sandbox               as for serve --sandbox, which needs no keys

        Exit code: 0 fine, 2 something is wrong.
        """

    private static let sandbox = """
        Usage: sluice sandbox [OPTIONS]

        Runs a look-alike of SLS: it checks signatures, digests, sizes and limits as SLS documents them,
        and shows what arrived.

          --listen ADDRESS   127.0.0.1:8082
          --storage FILE     keep the logs in a file; without it, in memory

        The key that may send is ALIBABA_CLOUD_ACCESS_KEY_ID with ALIBABA_CLOUD_ACCESS_KEY_SECRET from
        the environment; without them one is made and printed.
        """

    static let reach = """
          --config FILE           the gateway's YAML file               SLUICE_CONFIG
          --admin-listen ADDRESS  where its admin listener is, or       SLUICE_ADMIN_LISTEN
                                  https://NAME:PORT on another machine
          --admin-ca FILE         who signed its certificate            SLUICE_ADMIN_CA
          --admin-cert FILE       the certificate to show it            SLUICE_ADMIN_CERT
          --admin-key FILE        its key                               SLUICE_ADMIN_KEY
          --data-dir DIR          where it keeps its admin token        SLUICE_DATA_DIR
          --json                  print JSON, for scripts
        """

    static let token = """
        The token is that of SLUICE_ADMIN_TOKEN, of SLUICE_ADMIN_TOKEN_FILE, of the configuration, or the
        one that the gateway keeps in its data directory.
        """

    private static let health = """
        Usage: sluice health [OPTIONS]

        Says within four seconds whether a gateway runs here and answers, as the health check of a container.
        It needs no token.

          --ready                 whether it takes logs and they arrive, and otherwise why not
        \(reach)

        Exit code: 0 yes, 1 no, 2 wrong usage or configuration.
        """

    private static let status = """
        Usage: sluice status [OPTIONS]

        Shows how a running gateway is doing. First whether it takes logs, whether they arrive and else why not,
        what waits, which credential ends when, and the last error with its remedy; then the ledger (every log
        ever accepted is delivered, queued, dead, expired or discarded), each destination and each credential.

          --watch[=SECONDS]       again every 2 s, or so many, until interrupted; also while no gateway answers
        \(reach)

        \(token)

        Exit code: 0 fine, 1 no gateway answers or it refuses, 2 wrong usage or configuration.
        """

    private static let deadLetters = """
        Usage: sluice dead-letters [list] [FILTER] [OPTIONS]
               sluice dead-letters show ID
               sluice dead-letters export [FILTER]          one JSON object a line
               sluice dead-letters edit ID --file FILE      replace the log by that in FILE (- is stdin)
               sluice dead-letters edit ID --logstore NAME  send it elsewhere
               sluice dead-letters replay ID… | FILTER | --all
               sluice dead-letters purge ID… | FILTER | --all

        Dead letters are logs that SLS will never take as they are, each kept with SLS's code, message and
        request id until it is replayed, purged, or older than queue.dead_letter_age. With --json a list is
        one document, however long; export gives an object a line.

        The gateway replays and purges in small steps between which it accepts and delivers. When it takes
        longer than two minutes the command ends and the gateway goes on; sluice status shows what is left.

          --destination NAME      FILTER: of this destination
          --logstore NAME         FILTER: of this logstore
          --code CODE             FILTER: that died of this, as PostBodyInvalid
        \(reach)

        \(token)

        Exit code: 0 fine, 1 no gateway answers or it refuses, 2 wrong usage or configuration.
        """
}

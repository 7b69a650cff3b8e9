extension Help {
    /// The commands for a running gateway.
    static let operators = """
        == health: check that it answers, for process supervisors
        Usage: sluice health [OPTIONS]

        Checks within four seconds that a gateway runs here and answers. It suits a container's health check
        and needs no token.

          --ready                 also check that it accepts and delivers logs, and report the reason if not
        \(reach)

        Exit code: 0 yes, 1 no, 2 wrong usage or configuration.
        == status: show its state and the ledger
        Usage: sluice status [OPTIONS]

        Shows the state of a running gateway. First come intake, delivery, backlog, expiring credentials, and the
        last error with its remedy. Then come the ledger (each accepted log is delivered, queued, dead, expired or
        discarded), the destinations and the credentials.

          --watch[=SECONDS]       repeat every 2 or SECONDS s until interrupted, even while no gateway answers
          --cluster               only the cluster: its gateways and shards, the sum of all ledgers, and shards
                                  without a gateway with the reason
        \(closing)
        == dead-letters: list, show, export, edit, replay or purge logs that SLS refuses
        Usage: sluice dead-letters [list] [FILTER] [OPTIONS]
               sluice dead-letters show ID
               sluice dead-letters export [FILTER]          one JSON object a line
               sluice dead-letters edit ID --file FILE      replace the log with FILE (- is stdin)
               sluice dead-letters edit ID --logstore NAME  send it to another logstore
               sluice dead-letters replay ID… | FILTER | --all
               sluice dead-letters purge ID… | FILTER | --all

        Dead letters are logs that SLS will never accept unchanged. Each is kept with SLS's code, message and
        request id until it is replayed, purged, or older than queue.dead_letter_age. A log that is refused
        again becomes a new dead letter, which says how often it was replayed and when last. With --json a
        list is one document of any length; export prints one object a line.

        The gateway replays and purges in small steps, between which it accepts and delivers. After two
        minutes the command ends and the gateway continues; sluice status shows how many letters are left.

          --destination NAME      FILTER: of this destination
          --logstore NAME         FILTER: of this logstore
          --code CODE             FILTER: refused with this code, such as PostBodyInvalid
          --all                   all dead letters
          --file FILE             the log that replaces the dead letter
        \(closing)
        == pause: stop a destination's delivery
        Usage: sluice pause NAME | --all

        Stops its delivery until it is resumed, even after a restart. Accepted logs wait.

          --all                   for all destinations
        \(closing)
        == resume: restart a destination's delivery
        Usage: sluice resume NAME | --all

        Restarts its delivery.

          --all                   for all destinations
        \(closing)
        == flush: send a destination's waiting logs now
        Usage: sluice flush NAME | --all

        Sends its waiting logs now, without waiting for full packets.

          --all                   for all destinations
        \(closing)
        == rotate: set a new AccessKey or STS token
        Usage: sluice rotate [NAME] --file FILE      JSON in STS's form; - is stdin
               sluice rotate [NAME] --environment    ALIBABA_CLOUD_ACCESS_KEY_ID and the other variables

        Replaces a credential (NAME, or default) once SLS accepts a request signed with the new one. Requests in
        flight finish with the old one. The secret is never an argument, because every user of the machine can
        read those.

          --file FILE             the new credential, as a file; - is stdin
          --environment           take it from the environment
          --force                 skip the check with SLS
        \(reach)

        \(token)

        Exit code: 0 it is in use, 1 it is refused or no gateway answers, 2 wrong usage or configuration.
        == credentials: list, show, verify or forget credentials
        Usage: sluice credentials [list]
               sluice credentials show NAME
               sluice credentials verify NAME     check the credential in use with SLS
               sluice credentials forget NAME     return to the configured credential

        \(closing)
        == destinations: list, show, set or reset settings at run time
        Usage: sluice destinations [list]
               sluice destinations show NAME
               sluice destinations set NAME KEY=VALUE…    keys of the file: topic=night packet.logs=1000
               sluice destinations set NAME tags.env=prod tags.zone=a    replace all tags
               sluice destinations set NAME KEY=          return this key to the file's value
               sluice destinations reset NAME             return all keys to the file's values
               sluice destinations test NAME              reach it without delivering a log: SLS by a signed
                                                          request, HTTP by HEAD; a file and stdout are looked at

        Settings take effect at once, survive restarts, and override the file until they are reset.

        \(closing)
        == drain: stop intake and deliver the queue
        Usage: sluice drain [OPTIONS]
               sluice drain --end

        Stops the gateway's intake, delivers the queue, and waits until nothing is left, for example before a
        machine is removed. A restarted gateway accepts logs again.

          --timeout SECONDS       the longest wait; default 60
          --end                   end the drain and accept logs again
        \(reach)

        \(token)

        Exit code: 0 nothing is queued, 1 logs are left or no gateway answers, 2 wrong usage.
        == tail: show logs as they are accepted
        Usage: sluice tail [FILTER] [OPTIONS]

        Shows logs as the gateway accepts them, one a line, until interrupted. A slow reader never delays the
        gateway: skipped logs are counted on stderr. The command waits for a restarting gateway.

          --destination NAME      FILTER: for this destination
          --logstore NAME         FILTER: for this logstore
          --topic TOPIC           FILTER: with this topic
          --tag NAME[:VALUE]…     FILTER: with this tag, or this value of it
          --field NAME[:VALUE]…   FILTER: with this field, or this value of it; at most eight --tag and --field
          --limit N               end after N logs
          --rate N                show N logs a second at most, spread over all that match; the others are counted
                                  on stderr. Without it all are shown
        \(reach)
                                  (complete logs, one object a line, for jq)

        Without --json long values are cut, and control characters are escaped, as in \\u{1b}.

        \(token)

        Exit code: 0 fine, 1 no gateway answers or it refuses, 2 wrong usage or configuration.
        == queue: show the backlog by destination and stream
        Usage: sluice queue [OPTIONS]

        Shows the backlog: the streams of each destination, longest waiting first. A stream is the logs that share
        logstore, topic, source and tags.

          --destination NAME      only this destination
          --streams N             streams of each destination; default 20, at most 1000
          --order oldest|largest  longest waiting first (default), or most bytes first
          --peek                  show the oldest logs of --destination instead; they stay in the queue
          --logstore NAME         with --peek: only of this logstore
          --limit N               with --peek: so many logs; default 20, at most 100
        \(closing)
        == console: print the address of the console in a browser
        Usage: sluice console [--open]

        Prints the address of the console, which a browser shows.

          --open                  make a link that logs in once, within a minute
        \(closing)
        == capture: keep requests that devices send, to find a mistake
        Usage: sluice capture start [OPTIONS]        keep the next requests that suit all options
               sluice capture [list]
               sluice capture show ID [N]            its requests, or one of them
               sluice capture har ID                 as an HTTP archive (HAR 1.2)
               sluice capture export ID              as lines of JSON
               sluice capture curl ID N              one request as a line for a shell
               sluice capture replay ID N            what filters and routes would do with it now
               sluice capture replay ID N --send     store and deliver its logs again
               sluice capture stop ID                stop it and forget its requests

        A capture masks secrets before it keeps anything, and ends by itself.

          --path PREFIX           the beginning of the path; * stands for any text
          --host HOST             the host that the device calls; * stands for any text
          --tag PATTERN           as in filters and routes: app.**
          --key NAME              the name of a device's key
          --address ADDRESS       of the client, or a range: 10.0.0.0/8
          --status STATUS         of the answer: 400, or 4xx
          --text TEXT             a text in the body
          --records N             end after so many requests; default 100, at most 1000
          --bytes N               end after so many bytes; default 8388608
          --seconds N             end after so many seconds; default 600, at most 3600
          --file FILE             for replay: JSON with edited `filters`, `routes` or `unrouted`
          --send                  for replay: send the logs again, marked with the tag sluice_replay
        \(closing)
        == resolve: show what resolvers answer for a host, and whether its addresses connect
        Usage: sluice resolve                   the resolvers, and the addresses in use
               sluice resolve HOST [OPTIONS]    ask all resolvers, beside the cache
               sluice resolve [HOST] --refresh  ask again for the addresses in use

        For a host, the gateway asks each resolver of its configuration and the system, connects to each address
        that they answer, and checks the certificate for the host's name.

          --with NAME             ask this resolver only; `system` is one
          --refresh               ask again for the addresses in use, of all hosts or of one
          --port PORT             connect to this port; default the destination's, else 443
        \(reach)

        \(token)

        Exit code: 0 asked, 1 no gateway answers or it refuses, 2 wrong usage or configuration.
        == route: show what filters and routes do with logs, also without a gateway
        Usage: sluice route TAG [--file FILE] [OPTIONS]                ask the running gateway
               sluice route TAG [--file FILE] --config FILE [--json]   ask a configuration file, no gateway needed

        Shows what filters and routes do with logs of a tag: the filters that match, each step with what it
        changes, the destinations, and patterns that almost match. Nothing is stored, sent or counted.

          --file FILE             the logs, at most 100: JSON objects, one after the other or in an array
                                  (- is stdin); without it one log without fields
          --topic TOPIC           the logs' topic, which `redact` and `remove` may change
          --source SOURCE         likewise
          --client-ip ADDRESS     the value of {{client_ip}}
          --key NAME              the device key: the value of {{key}}, and a bound of the destinations
          --config FILE           test with this YAML file, as `sluice check` reads it
          --admin-listen ADDRESS  the gateway's admin listener, or      SLUICE_ADMIN_LISTEN
                                  https://NAME:PORT on another machine
          --admin-ca FILE         the authority of its certificate      SLUICE_ADMIN_CA
          --admin-cert FILE       your client certificate               SLUICE_ADMIN_CERT
          --admin-key FILE        the client certificate's key          SLUICE_ADMIN_KEY
          --data-dir DIR          its data directory, for the token     SLUICE_DATA_DIR
          --json                  print JSON, for scripts

        SLUICE_CONFIG names the running gateway's configuration, as for other commands.

        \(token)

        Exit code: 0 tested, 1 no gateway answers or it refuses, 2 wrong usage or configuration.
        == refusals: show the last refused requests, with reasons
        Usage: sluice refusals

        Shows the last 200 refused requests, newest first: who sent them, and why they were refused.

        \(closing)
        == clients: show devices' keys, what they sent and their budgets
        Usage: sluice clients

        Shows devices' keys with what they sent, their budgets and refusals.

        \(closing)
        == configuration: show every setting in force, and where it was given
        Usage: sluice configuration

        Shows every setting in force and where it was given, without secrets.

        \(closing)
        """
}

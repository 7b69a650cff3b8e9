// Help for the commands that change a running gateway.
extension Help {
    static let rotate = """
        Usage: sluice rotate [NAME] --file FILE      as STS answers it, in JSON; - is stdin
               sluice rotate [NAME] --environment    ALIBABA_CLOUD_ACCESS_KEY_ID and its relatives

        Puts a credential (default, unless named) in the place of the one in use, when SLS takes a request that
        is signed with it. What is on its way ends with the old one. The secret is never an argument, because
        those can be seen by everybody on the machine.

          --force                 without asking SLS
        \(reach)

        \(token)

        Exit code: 0 it is in use, 1 it is refused or no gateway answers, 2 wrong usage or configuration.
        """

    static let credentials = """
        Usage: sluice credentials [list]
               sluice credentials show NAME
               sluice credentials verify NAME     asks SLS whether it takes the one in use
               sluice credentials forget NAME     the one of the configuration again

        \(reach)

        \(token)

        Exit code: 0 fine, 1 no gateway answers or it refuses, 2 wrong usage or configuration.
        """

    static let destinations = """
        Usage: sluice destinations [list]
               sluice destinations show NAME
               sluice destinations set NAME KEY=VALUE…    as in the file: topic=night packet.logs=1000
               sluice destinations set NAME tags.env=prod tags.zone=a    all tags anew
               sluice destinations set NAME KEY=          as the file says again
               sluice destinations reset NAME             all of it as the file says again

        What is set takes effect at once, is kept over restarts, and beats the file until it is reset.

        \(reach)

        \(token)

        Exit code: 0 fine, 1 no gateway answers or it refuses, 2 wrong usage or configuration.
        """

    static func pausing(_ verb: String, _ sentence: String) -> String {
        """
        Usage: sluice \(verb) NAME | --all

        \(sentence)

        \(reach)

        \(token)

        Exit code: 0 fine, 1 no gateway answers or it refuses, 2 wrong usage or configuration.
        """
    }

    static let drain = """
        Usage: sluice drain [OPTIONS]
               sluice drain --end

        Lets the gateway refuse new logs and send what is queued, and waits until nothing is left: before a
        machine goes away, for example. A gateway that starts takes logs again.

          --timeout SECONDS       wait so long at most, 60
          --end                   let it take logs again
        \(reach)

        \(token)

        Exit code: 0 nothing is queued, 1 something is, or no gateway answers, 2 wrong usage.
        """

    static let tail = """
        Usage: sluice tail [FILTER] [OPTIONS]

        Shows logs as the gateway accepts them, one a line, until it is interrupted. It never waits for who
        reads slowly: what is not shown for that is counted on stderr. A gateway that restarts is waited for.

          --destination NAME      FILTER: for this destination
          --logstore NAME         FILTER: for this logstore
          --topic TOPIC           FILTER: with this topic
          --tag NAME[:VALUE]      FILTER: with this tag, with this value; with --field up to eight times
          --field NAME[:VALUE]    FILTER: with this field, with this value
          --limit N               end after so many logs
        \(reach)
                                  (whole logs, an object a line, as jq reads them)

        Without --json long values are cut, and what would steer a terminal is written as \\u{1b}.

        \(token)

        Exit code: 0 fine, 1 no gateway answers or it refuses, 2 wrong usage or configuration.
        """

    static let queue = """
        Usage: sluice queue [OPTIONS]

        Shows what waits in the queue: of each destination the streams, which are logs that share logstore, topic,
        source and tags, those first that have waited longest.

          --destination NAME      only this one
          --streams N             so many of each destination, 20; at most 1000
          --order ORDER           oldest, or largest: those first with the most bytes
        \(reach)

        \(token)

        Exit code: 0 fine, 1 no gateway answers or it refuses, 2 wrong usage or configuration.
        """
}

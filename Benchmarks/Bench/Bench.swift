import Glibc
import Net
import System

/// The benchmark's own parts: the posted bodies, the sink for forwarded packets, the decoders
/// alone, and the floor, which does a gateway's necessary work without the gateway.
@main
struct Bench {
    static func main() {
        var arguments = Array(CommandLine.arguments.dropFirst())
        let options = Options(removedFrom: &arguments)
        switch (arguments.first, arguments.count) {
        case ("bodies", 3):
            writeBodies(BodyKind(rawValue: arguments[2]) ?? .small, to: arguments[1])
        case ("sink", 2):
            runSink(options.sink(port: UInt16(arguments[1]) ?? 0))
        case ("open", 3):
            runOpenLoad(requests: arguments[1], port: UInt16(arguments[2]) ?? 0, options)
        case ("decode", 3):
            runDecode(bodies: arguments[1], seconds: Double(arguments[2]) ?? 5)
        case ("filter", 2):
            runFilter(seconds: Double(arguments[1]) ?? 5)
        case ("lookup", 2):
            runLookup(seconds: Double(arguments[1]) ?? 5)
        case ("floor", 4):
            runFloor(
                bodies: arguments[1],
                scratch: arguments[2],
                seconds: Double(arguments[3]) ?? 5,
                batches: Int(options.number("batches", or: 32)),
                isFile: options["store"] == "file"
            )
        case ("backlog", 6):
            runBacklog(
                arguments[1],
                directory: arguments[2],
                arguments[3...].compactMap { Int($0) }
            )
        default:
            print(
                "usage: sluice-bench bodies DIR 4|10|mail|single|few|group "
                    + "| sink PORT [--delay MS] [--errors PERCENT] [--certificate PEM --key PEM] "
                    + "| open REQUESTS PORT --rate R [--seconds 10] [--connections 128] "
                    + "| decode BODIES SECONDS | filter SECONDS | lookup SECONDS "
                    + "| floor BODIES SCRATCH SECONDS [--batches 32] [--store sqlite|file] "
                    + "| backlog fill|kill|open|drain DIR MIB STREAMS LOGS"
            )
            exit(2)
        }
    }
}

/// What follows the words of a command: `--name value`.
struct Options {
    private var values: [String: String] = [:]

    init(removedFrom arguments: inout [String]) {
        guard let first = arguments.firstIndex(where: { $0.hasPrefix("--") }) else { return }
        let words = Array(arguments[first...])
        arguments.removeSubrange(first...)
        for at in stride(from: 0, to: words.count, by: 2) {
            guard words[at].hasPrefix("--"), at + 1 < words.count else {
                fatalError("an option is --name value, not \(words[at])")
            }
            values[String(words[at].dropFirst(2))] = words[at + 1]
        }
    }

    subscript(_ name: String) -> String? { values[name] }

    func number(_ name: String, or otherwise: Double = 0) -> Double {
        guard let text = values[name] else { return otherwise }
        guard let number = Double(text), number >= 0 else {
            fatalError("--\(name) takes a number, not \(text)")
        }
        return number
    }

    func sink(port: UInt16) -> SinkSettings {
        var certificate: TLSSettings.Certificate?
        if let chain = self["certificate"], let key = self["key"] {
            certificate = TLSSettings.Certificate(chainFile: chain, keyFile: key)
        }
        return SinkSettings(
            port: port,
            delay: .nanoseconds(Int64(number("delay") * 1e6)),
            errorsPercent: number("errors"),
            certificate: certificate
        )
    }
}

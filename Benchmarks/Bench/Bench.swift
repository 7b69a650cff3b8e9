import Glibc

/// The benchmark's own parts: the posted bodies, the sink for forwarded packets, the decoders
/// alone, and the floor, which does a gateway's necessary work without the gateway.
@main
struct Bench {
    static func main() {
        let arguments = Array(CommandLine.arguments.dropFirst())
        switch (arguments.first, arguments.count) {
        case ("bodies", 3):
            writeBodies(BodyKind(rawValue: arguments[2]) ?? .small, to: arguments[1])
        case ("sink", 2):
            runSink(port: UInt16(arguments[1]) ?? 0)
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
                seconds: Double(arguments[3]) ?? 5
            )
        case ("backlog", 6):
            runBacklog(
                arguments[1],
                directory: arguments[2],
                arguments[3...].compactMap { Int($0) }
            )
        default:
            print(
                "usage: sluice-bench bodies DIR 4|10|mail|single | sink PORT | decode BODIES SECONDS "
                    + "| filter SECONDS | lookup SECONDS "
                    + "| floor BODIES SCRATCH SECONDS "
                    + "| backlog fill|kill|open|drain DIR MIB STREAMS LOGS"
            )
            exit(2)
        }
    }
}

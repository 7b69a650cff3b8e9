import Glibc
import Logs
import System

/// A small generator with a fixed seed, so that every run posts the same bodies.
struct SplitMix {
    var state: UInt64

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }

    mutating func below(_ bound: Int) -> Int {
        Int(next() % UInt64(bound))
    }

    mutating func pick(_ choices: [String]) -> String {
        choices[below(choices.count)]
    }

    mutating func hex(_ digits: Int) -> String {
        var text = ""
        while text.utf8.count < digits { text += String(next(), radix: 16) }
        return String(text.prefix(digits))
    }
}

private let levels = ["debug", "info", "info", "info", "warn", "error"]
private let verbs = ["opened", "closed", "loaded", "tapped", "retried", "cached", "rendered"]
private let things = ["cart", "profile", "checkout", "search results", "product page", "settings"]
private let models = ["iPhone15,3", "iPhone16,1", "Pixel 8", "SM-S918B", "iPad13,4"]
private let networks = ["wifi", "5g", "4g", "offline-cache"]

/// The logs of the bodies: of 4 fields and about 160 bytes, of 10 fields and about 590, or of 4
/// fields with an email address in every second text. A body has 100 of them; that of `single` has
/// one of 4 fields, that of `few` ten. Those of `group` are whole requests of an SDK.
enum BodyKind: String {
    case small = "4"
    case large = "10"
    case mail, single, few, group

    var logsPerBody: Int {
        switch self {
        case .single: 1
        case .few: 10
        case .small, .large, .mail, .group: 100
        }
    }

    func log(_ number: Int, _ random: inout SplitMix) -> String {
        switch self {
        case .small, .single, .few, .group: smallLog(&random)
        case .large: largeLog(&random)
        case .mail: mailLog(&random, hasAddress: number % 2 == 0)
        }
    }
}

/// Writes 64 files of logs, as JSON arrays. The values vary so that lz4 about halves them, as it
/// does real logs.
func writeBodies(_ kind: BodyKind, to directory: String) {
    mkdir(directory, 0o755)
    var random = SplitMix(state: kind == .large ? 10 : 4)
    var bytes = 0
    for number in 0..<64 {
        let logs = (0..<kind.logsPerBody).map { kind.log($0, &random) }
        let body = "[" + logs.joined(separator: ",\n") + "]"
        bytes += body.utf8.count
        if kind == .group {
            write(putLogs(of: Array(body.utf8)), to: "\(directory)/\(number).request")
        } else {
            write(Array(body.utf8), to: "\(directory)/\(number).json")
        }
    }
    let logs = 64 * kind.logsPerBody
    print("64 bodies of \(kind.logsPerBody) logs, \(bytes / logs) bytes a log, in \(directory)")
}

private func write(_ bytes: [UInt8], to path: String) {
    guard let file = fopen(path, "w") else { fatalError("cannot write \(path)") }
    fwrite(bytes, 1, bytes.count, file)
    fclose(file)
}

/// A request as SDKs send it: a LogGroup with topic, source and two tags, in lz4.
private func putLogs(of json: [UInt8]) -> [UInt8] {
    let trailer = GroupTrailer(
        topic: "bench",
        source: "10.0.0.1",
        tags: [("env", "prod"), ("version", "4.2.0")]
    )
    // The decoder needs 64 spare bytes after the body.
    let group = (json + [UInt8](repeating: 0, count: 64))
        .withUnsafeBytes { bytes in
            let body = UnsafeRawBufferPointer(rebasing: bytes[..<json.count])
            guard
                let logs = try? JSONLogDecoder()
                    .decodePlain(LogBody(body, BatchTiming(arrival: .now)))
            else { fatalError("a body is not readable") }
            return logs.sound.bytes + trailer.bytes
        }
    let block = LZ4.compress(group)
    let head = """
        POST /logstores/bench/shards/lb HTTP/1.1\r
        Host: bench\r
        Content-Type: application/x-protobuf\r
        x-log-apiversion: 0.6.0\r
        x-log-compresstype: lz4\r
        x-log-bodyrawsize: \(group.count)\r
        Content-Length: \(block.count)\r
        \r

        """
    return Array(head.utf8) + block
}

private func message(_ random: inout SplitMix) -> String {
    "user \(random.pick(verbs)) \(random.pick(things)) after \(random.below(9000)) ms "
        + "(request \(random.hex(12)), attempt \(random.below(4)) of 4 in all)"
}

func smallLog(_ random: inout SplitMix) -> String {
    #"{"level":"\#(random.pick(levels))","msg":"\#(message(&random))","#
        + #""device":"\#(random.hex(16))","session":\#(random.below(1_000_000_000))}"#
}

/// The text has 60 bytes.
private func mailLog(_ random: inout SplitMix, hasAddress: Bool) -> String {
    let whose = hasAddress ? "person.\(random.hex(6))@example.com" : "nobody who has an address"
    let text = "user \(whose) read page \(random.hex(19))"
    return #"{"level":"\#(random.pick(levels))","msg":"\#(text)","#
        + #""device":"\#(random.hex(16))","session":\#(random.below(1_000_000_000))}"#
}

private func largeLog(_ random: inout SplitMix) -> String {
    let stack = (0..<4)
        .map { _ in
            "\(random.pick(things)).\(random.pick(verbs))(\(random.hex(6)):\(random.below(900)))"
        }
        .joined(separator: " < ")
    return #"{"level":"\#(random.pick(levels))","msg":"\#(message(&random))","#
        + #""device":"\#(random.hex(16))","session":\#(random.below(1_000_000_000)),"#
        + #""model":"\#(random.pick(models))","network":"\#(random.pick(networks))","#
        + #""url":"https://api.example.com/v2/\#(random.pick(things))/\#(random.hex(24))?page=\#(random.below(40))&ref=\#(random.hex(8))","#
        + #""trace":"\#(random.hex(32))","elapsed":\#(random.below(20_000)).\#(random.below(1000)),"#
        + #""stack":"\#(stack) at \#(random.hex(40)) in \#(random.pick(models)) build \#(random.hex(20)) released to everybody on \#(random.pick(networks))"}"#
}

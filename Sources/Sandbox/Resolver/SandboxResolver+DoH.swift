import Crypto
import JSON
import Net
import System

/// DNS over HTTPS: RFC 8484, and Alibaba's form in JSON.
extension SandboxResolver {
    private static let messageType = "application/dns-message"

    func dnsMessage() throws(SLSRefusal) -> AnswerContent {
        try demand("GET", "POST")
        var message = Array(request.body)
        if request.method == "GET" {
            let text = Array(try demanded("dns").utf8)
            guard let bytes = base64Decoded(text[...], .url) else {
                throw .badRequest("BadMessage", "dns is not base64url without padding")
            }
            message = bytes
        } else if request["content-type"] != Self.messageType {
            throw SLSRefusal(415, "BadMessage", "the type is not \(Self.messageType)")
        }
        let question = try DNSQuestion(message)
        return AnswerContent(
            body: question.answer(zone[question.host]),
            type: Self.messageType
        )
    }

    func dnsJSON() throws(SLSRefusal) -> AnswerContent {
        try demand("GET")
        let name = try demanded("name")
        guard ResolverZone.isHost(name) else {
            throw .badRequest("InvalidHost", "\(name.prefix(100)) is not a host")
        }
        try checkKey(name)
        let type: UInt16 =
            switch request.parameter("type")?.uppercased() {
            case nil, "A", "1": DNSQuestion.a
            case "AAAA", "28": DNSQuestion.aaaa
            case let other?:
                throw .badRequest("MissingArgument", "type \(other.prefix(20)) is unknown")
            }
        let record = zone[name]
        let addresses = type == DNSQuestion.a ? record.v4 : record.v6
        if request.parameter("short") == "1" {
            var json = JSONWriter()
            json.array { json in addresses.forEach { json.element("\($0)") } }
            return AnswerContent(body: json.bytes)
        }
        return .json { json in
            json.member("Status", record.v4.isEmpty && record.v6.isEmpty ? 3 : 0)
            for (flag, isSet) in [("TC", false), ("RD", true), ("RA", true), ("AD", false)] {
                json.member(flag, isSet)
            }
            json.object("Question") { json in
                json.member("name", "\(ResolverZone.canonical(name)).")
                json.member("type", type)
            }
            json.objects("Answer", addresses) { json, address in
                json.member("name", "\(ResolverZone.canonical(name)).")
                json.member("TTL", record.seconds)
                json.member("type", type)
                json.member("data", "\(address)")
            }
        }
    }

    /// The public service wants no account. One that is given must be right.
    private func checkKey(_ name: String) throws(SLSRefusal) {
        guard let user = request.parameter("uid") else { return }
        try checkAccount(user)
        let (key, time) = (try demanded("ak"), try seconds("ts"))
        let right = Digest.sha256Hex("\(user)\(accounts.secret.revealed)\(time)\(name)\(key)")
        guard Digest.areEqual(Array(right.utf8), Array(try demanded("key").utf8)) else {
            throw .forbidden("InvalidSignature", "key does not fit uid, secret, ts, name, ak")
        }
        guard abs(now.seconds - time) < 600 else {
            throw .forbidden("SignatureExpired", "ts is \(time), here it is \(now.seconds)")
        }
    }
}

/// The question of a DNS message (RFC 1035), and answers to it.
struct DNSQuestion: Equatable {
    private let id: UInt16
    private let isRecursive: Bool
    private let section: [UInt8]
    let host: String
    let type: UInt16

    static let (a, aaaa): (UInt16, UInt16) = (1, 28)
    private static let headBytes = 12

    init(_ message: [UInt8]) throws(SLSRefusal) {
        func word(_ place: Int) -> UInt16 {
            UInt16(message[place]) << 8 | UInt16(message[place + 1])
        }
        guard message.count > Self.headBytes, message.count <= 4096 else {
            throw Self.wrong("\(message.count) bytes")
        }
        let flags = word(2)
        // A query, of the standard kind.
        guard flags & 0xf800 == 0 else { throw Self.wrong("flags \(flags)") }
        guard word(4) == 1, word(6) == 0, word(8) == 0, word(10) <= 1 else {
            throw Self.wrong("its counts")
        }
        var place = Self.headBytes
        var labels: [String] = []
        while true {
            guard place < message.count else { throw Self.wrong("its name has no end") }
            let count = Int(message[place])
            place += 1
            if count == 0 { break }
            guard count < 64, place + count <= message.count, place < 12 + 255 else {
                throw Self.wrong("a label")
            }
            labels.append(String(decoding: message[place..<place + count], as: UTF8.self))
            place += count
        }
        guard place + 4 <= message.count else { throw Self.wrong("its type is missing") }
        type = word(place)
        guard word(place + 2) == 1 else { throw Self.wrong("its class is not IN") }
        // What follows may be one record of EDNS, whose content does not matter here.
        let end = place + 4
        guard word(10) == 1 || end == message.count else {
            throw Self.wrong("more than a question")
        }
        host = labels.joined(separator: ".")
        guard ResolverZone.isHost(host) else { throw Self.wrong("its name") }
        id = word(0)
        isRecursive = flags & 0x0100 != 0
        section = Array(message[Self.headBytes..<end])
    }

    private static func wrong(_ what: String) -> SLSRefusal {
        SLSRefusal.badRequest("BadMessage", "not a DNS query: \(what)")
    }

    func answer(_ record: ResolverZone.Record) -> [UInt8] {
        let addresses =
            switch type {
            case Self.a: record.v4
            case Self.aaaa: record.v6
            default: [IPAddress]()
            }
        let isUnknown = record.v4.isEmpty && record.v6.isEmpty
        // An answer, with recursion available; 3 is NXDOMAIN.
        let flags: UInt16 = 0x8080 | (isRecursive ? 0x0100 : 0) | (isUnknown ? 3 : 0)
        let authorities: UInt16 = addresses.isEmpty ? 1 : 0
        var message: [UInt8] = []
        for word in [id, flags, 1, UInt16(addresses.count), authorities, 0] { message.add(word) }
        message += section
        for address in addresses {
            message.add(owner: type, seconds: record.seconds, data: address.bytes)
        }
        // Without addresses, the zone's SOA says for how long.
        if addresses.isEmpty {
            var data: [UInt8] = [0, 0]
            for number in [1, 3600, 600, 86_400, record.seconds] { data.add(number) }
            message.add(owner: 6, seconds: record.seconds, data: data)
        }
        return message
    }
}

extension [UInt8] {
    fileprivate mutating func add(_ word: UInt16) {
        self += [UInt8(word >> 8), UInt8(truncatingIfNeeded: word)]
    }

    fileprivate mutating func add(_ number: Int) {
        let number = UInt32(truncatingIfNeeded: number)
        add(UInt16(number >> 16))
        add(UInt16(truncatingIfNeeded: number))
    }

    /// A record of the question's name, which begins right after the message's head.
    fileprivate mutating func add(owner type: UInt16, seconds: Int, data: [UInt8]) {
        add(UInt16(0xc00c))
        add(type)
        add(UInt16(1))
        add(seconds)
        add(UInt16(data.count))
        self += data
    }
}

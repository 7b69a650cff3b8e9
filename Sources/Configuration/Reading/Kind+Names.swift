import Crypto
import Net
import SLS

extension Kind<ListenAddress> {
    static var listenAddress: Kind {
        Kind(
            wants: "an address such as 0.0.0.0:8080",
            show: { .text("\($0)") },
            parsedBy: ListenAddress.init(parsing:)
        )
    }
}

extension Kind<String> {
    /// As browsers write it in `Host`, without a port; in lower case.
    static var hostName: Kind {
        Kind(
            wants: "a host's name such as gateway.example.com",
            show: { .text($0) },
            or: "is no host's name; write it without scheme and port"
        ) { (1...253).contains($0.utf8.count) && $0.isOfLetters(and: "-.") ? $0.lowercased() : nil }
    }
}

extension Kind<AddressRange> {
    static var addressRange: Kind {
        Kind(wants: "a range of addresses such as 10.0.0.0/8") { text throws(Mismatch) in
            do throws(AddressRangeError) {
                return try AddressRange(parsing: text)
            } catch {
                throw Mismatch("\(quoted(text)) \(error.description)")
            }
        }
    }
}

extension Kind<Endpoint> {
    static var endpoint: Kind {
        Kind(
            wants: "an endpoint such as https://cn-hangzhou.log.aliyuncs.com",
            show: { .text("\($0)") },
            parsedBy: Endpoint.init(parsing:)
        )
    }
}

extension Kind<CertificatePattern> {
    static var certificatePattern: Kind {
        Kind(
            wants: "a name such as dns:phone-*.example.com",
            or: "is not a kind (\(CertificatePattern.kinds.joined(separator: ", "))) and a "
                + "name with one * at most, as in dns:phone-*.example.com",
            parsedBy: CertificatePattern.init
        )
    }
}

extension Kind<Secret> {
    /// Neither a message nor a document contains the value.
    static func secret(bytesMin: Int, bytesMax: Int = .max) -> Kind {
        Kind(wants: "a secret") { text throws(Mismatch) in
            try expect(text.utf8.count >= bytesMin) {
                "has \(text.utf8.count) characters; give at least \(bytesMin), for example from: "
                "openssl rand -hex 32"
            }
            try expect(text.utf8.count <= bytesMax) { "is longer than \(bytesMax) characters" }
            guard text.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7f }) else {
                throw Mismatch("has spaces, line ends or characters beyond ASCII")
            }
            return Secret(text)
        }
    }

    static func secret(_ bytes: ClosedRange<Int>) -> Kind {
        secret(bytesMin: bytes.lowerBound, bytesMax: bytes.upperBound)
    }

    /// The value of an HTTP header.
    static var headerValue: Kind {
        Kind(wants: "a text such as Bearer …") { text throws(Mismatch) in
            guard !text.isEmpty, text.utf8.count <= 8 << 10,
                text.utf8.allSatisfy({ $0 >= 0x20 && $0 < 0x7f })
            else {
                throw Mismatch(
                    "is not the value of a header: one line of visible ASCII, up to 8 KiB, as in "
                        + "\"Bearer …\""
                )
            }
            return Secret(text)
        }
    }
}

extension Kind<String> {
    /// `regex` says the same in the schema.
    static func name(_ pattern: NamePattern, _ regex: String) -> Kind {
        text("a name", .text(pattern: regex)) { pattern.problem(with: $0) }
    }

    static var tagName: Kind {
        text("the name of a tag") {
            (1...128).contains($0.utf8.count) ? nil : "a tag's name has 1 to 128 bytes"
        }
    }

    /// A name that becomes a label of metrics.
    static var keyName: Kind {
        let shape = SettingShape.text(pattern: "^[A-Za-z0-9._-]{1,64}$")
        return text("a name", shape, show: { _ in .hidden }) {
            isNameOfLetters($0) ? nil : "a name has 1 to 64 letters, digits, '-', '_' and '.'"
        }
    }

    /// The name of a header of requests (RFC 9110 section 5.1), in lower case.
    static var headerName: Kind {
        Kind(wants: "the name of a header such as x-app-version") { written throws(Mismatch) in
            // A star stands for itself where a page sends credentials, as beacons do.
            guard written != "*" else {
                throw Mismatch("\"*\" is not the name of a header; list each that pages send")
            }
            // RFC 9110 section 5.6.2.
            guard (1...64).contains(written.utf8.count), written.isOfLetters(and: "!#$%&'*+-.^_`|~")
            else {
                throw Mismatch(
                    "\(quoted(written)) is not the name of a header: 1 to 64 letters, digits and !#$%&'*+-.^_`|~"
                )
            }
            return written.lowercased()
        }
    }
}

/// SLS puts these into a log itself, or a packet's own id.
func isReservedName(_ text: String) -> Bool {
    [
        "__time__", "__source__", "__topic__", "__pack_id__", "__partition_time__",
        "_extract_others_", "__extract_others__",
    ].contains(text)
}

/// 1 to 64 ASCII letters, digits, '-', '_' and '.'.
func isNameOfLetters(_ text: String) -> Bool {
    (1...64).contains(text.utf8.count) && text.isOfLetters(and: "-_.")
}

extension StringProtocol {
    /// True if it has no characters but ASCII letters, digits and these.
    func isOfLetters(and others: StaticString) -> Bool {
        utf8.allSatisfy { byte in
            (0x30...0x39).contains(byte) || (0x61...0x7a).contains(byte | 0x20)
                || others.withUTF8Buffer { $0.contains(byte) }
        }
    }
}

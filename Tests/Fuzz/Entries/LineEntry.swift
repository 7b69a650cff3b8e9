import Logs

/// Text, a log a line.
enum LineEntry: FuzzEntry {
    static let name = "lines"

    static func run(_ body: [UInt8]) throws(Contradiction) {
        let decoder = LineLogDecoder(limits: Fixed.limits)
        let read = try readTwice(body) { body throws(LogDecodingError) in
            [ReadGroup(try decoder.decode(body, Fixed.timing, Fixed.strict))]
        }
        try read.keepsPromises(of: body)
        guard case .success(let groups) = read else { return }
        let mark: [UInt8] = [0xEF, 0xBB, 0xBF]
        let text = body.starts(with: mark) ? body.dropFirst(mark.count) : body[...]
        let lines = text.split(separator: UInt8(ascii: "\n")).count { $0 != [UInt8(ascii: "\r")] }
        try check(groups[0].logs.count == lines, "\(groups[0].logs.count) logs of \(lines) lines")
    }
}

import Testing

@testable import Configuration

@Suite struct YAMLTests {
    @Test("Values keep their lines, and scalars stay text")
    func tree() throws {
        let text = """
            # a comment
            listen: 0.0.0.0:80
            tags:
              env: no
              note: "a # b"
            list: [1, two]
            """
        let root = try #require(try YAMLDocument.read(Array(text.utf8)))
        #expect(
            root
                == .map(
                    2,
                    ("listen", 2, .text("0.0.0.0:80", 2)),
                    (
                        "tags", 3,
                        .map(4, ("env", 4, .text("no", 4)), ("note", 5, .quoted("a # b", 5)))
                    ),
                    (
                        "list", 6,
                        YAMLNode(line: 6, content: .sequence([.text("1", 6), .text("two", 6)]))
                    )
                )
        )
    }

    @Test("Nothing but comments is no document", arguments: ["", "# nothing\n", "\n\n"])
    func empty(text: String) throws {
        #expect(try YAMLDocument.read(Array(text.utf8)) == nil)
    }

    @Test("An alias repeats what it names")
    func alias() throws {
        let root = try #require(try YAMLDocument.read(Array("a: &x {k: v}\nb: *x\n".utf8)))
        guard case .mapping(let entries) = root.content else { return #expect(Bool(false)) }
        #expect(entries[0].value == entries[1].value)
    }

    @Test(
        "What cannot be read is refused with its line",
        arguments: [
            ("a: [1, 2\nb: 3\n", 2),
            ("a: 1\n\tb: 2\n", 2),
            ("a: 1\n---\nb: 2\n", 2),
            ("a: *missing\n", 1),
            ("ok: 1\n? [complex]\n: 2\n", 2),
            ("a: !secret x\n", 1),
        ]
    )
    func refused(text: String, line: Int) {
        let error = #expect(throws: YAMLError.self) { try YAMLDocument.read(Array(text.utf8)) }
        #expect(error?.line == line, "\(text)")
    }

    @Test("Text that is not UTF-8 is refused at its line")
    func notUTF8() {
        let error = #expect(throws: YAMLError.self) {
            try YAMLDocument.read(Array("a: 1\nb: ".utf8) + [0xff, 0x0a])
        }
        #expect(error == YAMLError(line: 2, reason: "not valid UTF-8"))
    }

    @Test("Aliases of aliases cannot grow without end")
    func bomb() {
        var text = "l0: &l0 [x, x, x, x, x, x, x, x, x, x]\n"
        for level in 1...9 {
            let names = Array(repeating: "*l\(level - 1)", count: 10).joined(separator: ", ")
            text += "l\(level): &l\(level) [\(names)]\n"
        }
        let error = #expect(throws: YAMLError.self) { try YAMLDocument.read(Array(text.utf8)) }
        #expect(error?.reason == "more than 100000 values")
    }

    @Test("Depth and size are bounded")
    func bounds() {
        let deep = Array((String(repeating: "[", count: 100) + "\n").utf8)
        #expect(throws: YAMLError.self) { try YAMLDocument.read(deep) }
        let long = [UInt8](repeating: UInt8(ascii: "a"), count: (1 << 20) + 1)
        #expect(throws: YAMLError(line: 1, reason: "larger than 1048576 bytes")) {
            try YAMLDocument.read(long)
        }
    }
}

extension YAMLNode {
    static func text(_ text: String, _ line: Int) -> YAMLNode {
        YAMLNode(line: line, content: .scalar(text, isPlain: true))
    }

    static func quoted(_ text: String, _ line: Int) -> YAMLNode {
        YAMLNode(line: line, content: .scalar(text, isPlain: false))
    }

    static func map(_ line: Int, _ entries: (String, Int, YAMLNode)...) -> YAMLNode {
        YAMLNode(
            line: line,
            content: .mapping(entries.map { Entry(key: $0.0, line: $0.1, value: $0.2) })
        )
    }
}

import Testing

@testable import Ingest

@Suite struct BodyShapeTests {
    @Test(
        "An object is known by its first bytes",
        arguments: ["{}", "{\"a\":1}", " \r\n\t{ \n\"a", "\u{FEFF}{}"]
    )
    func object(text: String) {
        Array(text.utf8).withUnsafeBytes {
            #expect($0.beginsAsObject)
            #expect(!$0.beginsAsLogGroup)
        }
    }

    @Test("A LogGroup is none, even where its first bytes are blanks and a brace")
    func logGroup() {
        for size in 0..<UInt8(128) {
            ([0x0A, size, 0x08, 0x80] as [UInt8]).withUnsafeBytes {
                #expect($0.beginsAsLogGroup)
                #expect(!$0.beginsAsObject)
            }
        }
        ([0x0A, 0x80, 0x80, 0x01, 0x08] as [UInt8]).withUnsafeBytes {
            #expect($0.beginsAsLogGroup)
        }
    }

    @Test(
        "What ends too early is neither",
        arguments: [
            [], [0x0A], [0x0A, 0x7B], [0x0A, 0x80, 0x80], [0x7B], [0xEF, 0xBB, 0x7B], [0x20],
        ]
            as [[UInt8]]
    )
    func neither(bytes: [UInt8]) {
        bytes.withUnsafeBytes {
            #expect(!$0.beginsAsObject)
            #expect(!$0.beginsAsLogGroup)
        }
    }
}

import Testing

@testable import HTTPClient

@Suite struct OutgoingBodyTests {
    func take(_ body: inout OutgoingBody, _ size: Int) -> [UInt8] {
        withUnsafeTemporaryAllocation(byteCount: size, alignment: 1) { buffer in
            let count = body.take(into: buffer)
            return Array(buffer[..<count])
        }
    }

    @Test("It comes in pieces of any size, and then there is nothing more", arguments: 1...7)
    func pieces(size: Int) {
        let bytes = [UInt8](0..<20)
        var body = OutgoingBody(.plain(bytes))
        var taken: [UInt8] = []
        while true {
            let piece = take(&body, size)
            if piece.isEmpty { break }
            taken += piece
        }
        #expect(taken == bytes)
        #expect(!body.isRepeated)
        #expect(body.count == 20)
    }

    @Test("Going back to the beginning is a repetition only when something was sent")
    func rewind() {
        var body = OutgoingBody(.plain([1, 2, 3]))
        body.rewind()
        #expect(!body.isRepeated && !body.isTaken)
        _ = take(&body, 2)
        #expect(!body.isRepeated && body.isTaken)
        body.rewind()
        #expect(body.isRepeated && body.isTaken)
        #expect(take(&body, 10) == [1, 2, 3])
    }
}

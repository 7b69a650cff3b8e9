import Queue

/// Packets that were cut from others, the smallest first: so the search for a log that is refused ends with
/// few others under way. Of the same size, the one that was cut last comes first.
struct Pieces {
    private struct Piece {
        let number: Int64
        let logs: Int
    }

    /// The largest first, so that the next one is at the end.
    private var pieces: [Piece] = []

    var isEmpty: Bool { pieces.isEmpty }

    mutating func insert(_ number: Int64, logs: Int) {
        // Mostly it belongs near the end: halves are smaller than what they came from.
        var place = pieces.endIndex
        while place > 0, pieces[place - 1].logs < logs { place -= 1 }
        pieces.insert(Piece(number: number, logs: logs), at: place)
    }

    mutating func popFirst() -> Int64? {
        pieces.popLast()?.number
    }
}

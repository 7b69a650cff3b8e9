import Queue

/// Packets that were split off others, smallest first. So the search for a refused log ends with
/// few other pieces in flight. Among pieces of the same size the latest comes first.
struct Pieces {
    private struct Piece {
        let number: Int64
        let logs: Int
    }

    /// Largest first, so that the next one is at the end.
    private var pieces: [Piece] = []

    var isEmpty: Bool { pieces.isEmpty }

    mutating func insert(_ number: Int64, logs: Int) {
        // A new piece usually belongs near the end: halves are smaller than their origin.
        var place = pieces.endIndex
        while place > 0, pieces[place - 1].logs < logs { place -= 1 }
        pieces.insert(Piece(number: number, logs: logs), at: place)
    }

    mutating func popFirst() -> Int64? {
        pieces.popLast()?.number
    }
}

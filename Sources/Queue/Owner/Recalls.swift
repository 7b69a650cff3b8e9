import System

/// Packets that delivery holds and is to give back instead of sending them again: they grew too old, or go
/// elsewhere. It is told when it asks for the content of one, which it does before each further attempt, and so never
/// while one is under way.
final class Recalls: Sendable {
    private let numbers = Locked<Set<Int64>>([])

    func insert(_ number: Int64) {
        numbers.withLock { _ = $0.insert(number) }
    }

    func contains(_ number: Int64) -> Bool {
        numbers.withLock { $0.contains(number) }
    }

    /// Those that delivery does not hold any more are back.
    func keep(_ held: Set<Int64>) {
        numbers.withLock { numbers in
            guard !numbers.isEmpty else { return }
            numbers.formIntersection(held)
        }
    }
}

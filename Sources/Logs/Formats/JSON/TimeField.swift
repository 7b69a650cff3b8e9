import Glibc

/// A field that gives a log's time as `__time__` does, in logs of programs that call it otherwise.
struct TimeField {
    static let none = TimeField()
    private static let meaning: StaticString = "__time__"

    private let name: [UInt8]
    /// The bytes of its name; -1, which no name has, when there is none.
    let count: Int

    private init() {
        name = []
        count = -1
    }

    init(_ name: String) {
        self.name = Array(name.utf8)
        count = self.name.count
    }

    /// Gives the field whose name is written here the name `__time__` if it is the one, and returns the size of the
    /// name that stands there then. There is room for either.
    func renaming(_ written: UnsafeMutablePointer<UInt8>, _ size: Int) -> Int {
        guard size == count, memcmp(written, name, size) == 0 else { return size }
        written.update(from: Self.meaning.utf8Start, count: Self.meaning.utf8CodeUnitCount)
        return Self.meaning.utf8CodeUnitCount
    }
}

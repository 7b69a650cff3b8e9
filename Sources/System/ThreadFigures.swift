import Glibc

/// The time that the process's threads of one name had a core, and waited for one.
package struct ThreadFigures: Sendable, Equatable {
    package let name: String
    package private(set) var cpu: Duration
    /// Ready to run while other threads had all cores. On a full machine it shows who starves.
    package private(set) var waited: Duration

    /// All threads of the process that run now, by name. Empty if the kernel does not count.
    package static var now: [ThreadFigures] {
        var byName: [String: ThreadFigures] = [:]
        for thread in entries(in: "/proc/self/task") {
            let path = "/proc/self/task/\(thread)"
            // A thread may end between two calls.
            guard let name = text("\(path)/comm"), let counts = text("\(path)/schedstat"),
                let figures = ThreadFigures(name: name, schedstat: counts)
            else { continue }
            byName[name, default: ThreadFigures(name: name)].add(figures)
        }
        return byName.values.sorted { $0.name < $1.name }
    }

    private init(name: String) {
        (self.name, cpu, waited) = (name, .zero, .zero)
    }

    /// The kernel writes nanoseconds on a core, nanoseconds that it waited for one, and the number
    /// of turns.
    init?(name: String, schedstat: String) {
        let numbers = schedstat.split(separator: " ").map { Int64($0) }
        guard numbers.count == 3, let cpu = numbers[0], let waited = numbers[1] else { return nil }
        self.name = name
        self.cpu = .nanoseconds(cpu)
        self.waited = .nanoseconds(waited)
    }

    private mutating func add(_ other: ThreadFigures) {
        cpu += other.cpu
        waited += other.waited
    }

    private static func text(_ path: String) -> String? {
        guard var content = try? fileContent(path, bytesMax: 4096) else { return nil }
        if content.last == UInt8(ascii: "\n") { content.removeLast() }
        return String(decoding: content, as: UTF8.self)
    }

    private static func entries(in path: String) -> [String] {
        guard let directory = opendir(path) else { return [] }
        defer { closedir(directory) }
        var names: [String] = []
        while let entry = readdir(directory) {
            let name = withUnsafeBytes(of: entry.pointee.d_name) { bytes in
                String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
            }
            if !name.hasPrefix(".") { names.append(name) }
        }
        return names
    }
}

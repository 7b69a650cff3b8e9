import CSystem
import Glibc

/// The process's current use of resources, as the kernel counts it.
package struct ProcessFigures: Sendable {
    package let residentBytes: Int
    package let virtualBytes: Int
    package let cpu: Duration
    package let openDescriptors: Int
    package let descriptorsMax: Int
    package let threads: Int

    package static var now: ProcessFigures {
        let pages = (try? fileContent("/proc/self/statm", bytesMax: 4096)) ?? []
        let counts = pages.split(separator: UInt8(ascii: " ")).map {
            Int(String(decoding: $0, as: UTF8.self)) ?? 0
        }
        let pageBytes = sysconf(CInt(_SC_PAGESIZE))
        var cpu = timespec()
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &cpu)
        var limit = rlimit()
        getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
        return ProcessFigures(
            residentBytes: counts.count > 1 ? counts[1] * pageBytes : 0,
            virtualBytes: counts.first.map { $0 * pageBytes } ?? 0,
            cpu: .seconds(cpu.tv_sec) + .nanoseconds(cpu.tv_nsec),
            // Not counted: ".", "..", and the descriptor of the listing itself.
            openDescriptors: max(0, fileNames(in: "/proc/self/fd").count - 3),
            descriptorsMax: Int(clamping: limit.rlim_cur),
            threads: max(0, fileNames(in: "/proc/self/task").count - 2)
        )
    }
}

/// The time that the process's threads of one name had a core, and waited for one.
package struct ThreadFigures: Sendable, Equatable {
    package let name: String
    package private(set) var cpu: Duration
    /// Ready to run while other threads had all cores. On a full machine it shows who starves.
    package private(set) var waited: Duration

    /// All threads of the process that run now, by name. Empty if the kernel does not count.
    package static var now: [ThreadFigures] {
        var byName: [String: ThreadFigures] = [:]
        for thread in fileNames(in: "/proc/self/task") where !thread.hasPrefix(".") {
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

    /// The kernel writes nanoseconds on a core and waiting for one, and the number of turns.
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
}

/// Core dumps, which would contain the credentials.
package enum CoreDumps {
    /// Call this first in the process. Returns false when the system refuses.
    @discardableResult
    package static func forbid() -> Bool {
        sluice_forbid_dumps() == 0
    }
}

/// The process's limit of open descriptors.
package enum DescriptorLimit {
    /// Raises the soft limit to the hard limit and returns the limit in force.
    ///
    /// The soft limit is 1,024 on most systems, for programs that use `select`.
    package static func raise() -> Int {
        var limit = rlimit()
        guard getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else {
            return 1024
        }
        if limit.rlim_cur < limit.rlim_max {
            var raised = limit
            raised.rlim_cur = raised.rlim_max
            if setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &raised) == 0 {
                limit = raised
            }
        }
        return Int(clamping: limit.rlim_cur)
    }
}

/// The host's name, which tells gateways apart; nil where the system has none.
package func machineName() -> String? {
    var name = [CChar](repeating: 0, count: 256)
    guard gethostname(&name, name.count - 1) == 0, name[0] != 0 else { return nil }
    return String(
        decoding: name.prefix { $0 != 0 }.map(UInt8.init(truncatingIfNeeded:)),
        as: UTF8.self
    )
}

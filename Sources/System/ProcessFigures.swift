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
            openDescriptors: entries(in: "/proc/self/fd"),
            descriptorsMax: Int(clamping: limit.rlim_cur),
            threads: entries(in: "/proc/self/task")
        )
    }

    private static func entries(in path: String) -> Int {
        guard let directory = opendir(path) else { return 0 }
        defer { closedir(directory) }
        var count = 0
        while readdir(directory) != nil { count += 1 }
        // Not counted: ".", "..", and the descriptor of the listing itself.
        return max(0, count - (path.hasSuffix("fd") ? 3 : 2))
    }
}

import Glibc
package import System

/// A server program that ends with this value, or with the test's process, also if that crashes.
package final class LeashedProgram {
    private let shell: ChildProcess
    /// The program's own process; 0: it could not be started.
    private let id: pid_t

    package init(_ words: [String]) throws(SystemError) {
        // The shell ends the program when its input ends, as it does with the test's process.
        let script = """
            exec 3<&0
            "$@" 3<&- >/dev/null & program=$!
            echo $program
            (cat <&3 >/dev/null; kill -9 $program 2>/dev/null) & watch=$!
            wait $program; kill -9 $watch 2>/dev/null
            """
        shell = try ChildProcess(["sh", "-c", script, "sh"] + words, input: .pipe, output: .pipe)
        let line = shell.output?.read(until: "\n") ?? ""
        id = pid_t(line.prefix { $0.isNumber }) ?? 0
    }

    deinit { kill() }

    /// Waits until it stands still if that is what the signal does.
    package func signal(_ number: CInt) {
        guard id > 0 else { return }
        Glibc.kill(id, number)
        if number == SIGSTOP { _ = eventually { isStanding } }
    }

    private var isStanding: Bool {
        let threads = "/proc/\(id)/task"
        return fileNames(in: threads).allSatisfy { thread in
            guard let stat = try? fileContent("\(threads)/\(thread)/stat", bytesMax: 4096) else {
                return true
            }
            // "123 (name) T …"; the name may have spaces.
            let end = stat.lastIndex(of: UInt8(ascii: ")")) ?? 0
            return stat.dropFirst(end + 2).first == UInt8(ascii: "T")
        }
    }

    /// As a power cut of its process would end it.
    package func kill() {
        shell.input?.close()
        shell.wait()
    }

    package func wait() { shell.wait() }
}

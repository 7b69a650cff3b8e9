import Configuration
// The C library's `environ` is a mutable variable, but this program never changes it.
@preconcurrency import Glibc
import System

/// nil: the configuration cannot be used, and the reasons are told.
func configured<Value>(
    _ value: @autoclosure () throws(ConfigurationProblems) -> Value
) -> Value? {
    do throws(ConfigurationProblems) {
        return try value()
    } catch {
        Terminal.complain(error.description)
        return nil
    }
}

/// Reads the file that an argument names; "-" is standard input.
enum FileContents {
    static func read(_ path: String, bytesMax: Int, hint: String) throws(UsageError) -> [UInt8] {
        let descriptor = path == "-" ? 0 : open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else {
            let reason = String(cString: strerror(errno))
            throw UsageError("\(path) cannot be read: \(reason)", hint: hint)
        }
        defer { if descriptor > 0 { close(descriptor) } }
        var content: [UInt8] = []
        var piece = [UInt8](repeating: 0, count: 64 << 10)
        while content.count <= bytesMax {
            let count = Glibc.read(descriptor, &piece, piece.count)
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { break }
            content += piece.prefix(count)
        }
        guard content.count <= bytesMax else {
            throw UsageError("\(path) is larger than \(bytesMax) bytes", hint: hint)
        }
        return content
    }
}

/// The process's environment.
func environmentVariables() -> [String: String] {
    var variables: [String: String] = [:]
    var entry = environ
    while let text = entry.pointee {
        let parts = String(cString: text).split(
            separator: "=",
            maxSplits: 1,
            omittingEmptySubsequences: false
        )
        if parts.count == 2 { variables[String(parts[0])] = String(parts[1]) }
        entry += 1
    }
    return variables
}

// The C library's `environ` is a mutable variable, but this program never changes it.
@preconcurrency import Glibc

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

import Glibc

/// Called by libFuzzer. FUZZ names the entry: there is one program for all entries, since linking
/// takes as long as running.
///
/// - Parameters:
///   - start: The first byte; may be nil when there is none.
///   - count: How many there are.
/// - Returns: 0; or -1, with which libFuzzer does not keep the input.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzz(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    guard count <= chosen.bytesMax else { return -1 }
    do throws(Contradiction) {
        try chosen.run(Array(UnsafeBufferPointer(start: start, count: count)))
    } catch {
        fatalError("\(chosen.name): \(error)")
    }
    return 0
}

private let chosen = entry(named: getenv("FUZZ").map { String(cString: $0) } ?? "")

private func entry(named wanted: String) -> any FuzzEntry.Type {
    for entry in fuzzEntries where entry.name == wanted { return entry }
    let names = fuzzEntries.map { $0.name }.joined(separator: " ")
    fatalError("FUZZ is '\(wanted)'; name one of: \(names)")
}

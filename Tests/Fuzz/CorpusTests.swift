import Foundation
import Testing

/// The seeds of the fuzzers, and what becomes of them when a few bytes change: seconds, without
/// libFuzzer.
@Suite struct CorpusTests {
    private static let folder = URL(filePath: #filePath).deletingLastPathComponent()

    private static func seeds(_ name: String) throws -> [(name: String, bytes: [UInt8])] {
        try FileManager.default.contentsOfDirectory(
            at: folder.appending(path: "corpus/\(name)"),
            includingPropertiesForKeys: nil
        ).sorted { $0.path < $1.path }.map { file in
            (file.lastPathComponent, Array(try Data(contentsOf: file)))
        }
    }

    @Test("Each entry has seeds, and all seeds have an entry")
    func complete() throws {
        let folders = try FileManager.default.contentsOfDirectory(
            atPath: Self.folder.appending(path: "corpus").path
        )
        #expect(folders.sorted() == fuzzEntries.map { $0.name }.sorted())
        for entry in fuzzEntries {
            let seeds = try Self.seeds(entry.name)
            #expect(!seeds.isEmpty, "\(entry.name)")
            for (name, bytes) in seeds {
                #expect(bytes.count <= entry.bytesMax, "\(entry.name)/\(name) is never tried")
            }
        }
    }

    @Test(
        "Seeds keep all promises, whole, truncated and damaged",
        arguments: fuzzEntries.map { $0.name }
    )
    func seeds(name: String) throws {
        let entry = try #require(fuzzEntries.first { $0.name == name })
        var dice = Dice(state: 1)
        let seeds = try Self.seeds(name)
        for (file, seed) in seeds {
            for round in 0...max(40, 2000 / seeds.count) {
                let bytes = round == 0 ? seed : dice.broken(seed)
                do {
                    try entry.run(bytes)
                } catch {
                    Issue.record("\(name)/\(file), broken \(round) times: \(error): \(bytes)")
                }
            }
        }
    }

    @Test("A contradiction is told")
    func contradiction() {
        #expect(throws: Contradiction.self) { try check(false, "this cannot be") }
        let read = { (body: UnsafeRawBufferPointer) in
            // A reader that looks behind its body.
            UnsafeRawBufferPointer(start: body.baseAddress, count: body.count + 1).map { $0 }
        }
        #expect(throws: Contradiction.self) { try readTwice([1, 2, 3], read) }
    }
}

/// The same sequence for the same seed.
private struct Dice: RandomNumberGenerator {
    var state: UInt64

    // SplitMix64.
    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }

    mutating func broken(_ seed: [UInt8]) -> [UInt8] {
        var bytes = seed
        for _ in 0..<Int.random(in: 1...3, using: &self) where !bytes.isEmpty {
            let place = Int.random(in: bytes.indices, using: &self)
            switch Int.random(in: 0..<6, using: &self) {
            case 0: bytes[place] = .random(in: 0...255, using: &self)
            // Bytes that mean something in its format.
            case 1: bytes[place] = seed[Int.random(in: seed.indices, using: &self)]
            case 2: bytes.remove(at: place)
            case 3: bytes.removeLast(bytes.count - place)
            case 4:
                let end = min(bytes.count, place + Int.random(in: 1...16, using: &self))
                bytes.insert(contentsOf: bytes[place..<end], at: place)
            default: bytes[place] ^= 1 << UInt8.random(in: 0..<8, using: &self)
            }
        }
        return bytes
    }
}

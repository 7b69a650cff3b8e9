import CSystem
import Glibc
import Logs
import System

/// The yardstick: one thread does only the work that keeps a gateway's promise.
///
/// JSON bodies to Log entries, lz4 of rows of 64 KiB, a commit with one sync for so many batches,
/// reading back, stitching into packets of about 1 MiB, removing what was delivered. No HTTP, no
/// accounts of what was stored, no signatures.
func runFloor(bodies: String, scratch: String, seconds: Double, batches: Int, isFile: Bool) {
    // Otherwise freed packets go back to the kernel, and the next one's pages cost a fault each.
    sluice_set_allocator(1, 32 << 20)
    var floor = Floor(readBodies(bodies))
    let began = (wall: clock(CLOCK_MONOTONIC), processor: clock(CLOCK_PROCESS_CPUTIME_ID))
    var syncs: [Double] = []
    if isFile {
        let store = FileFloor(in: scratch)
        floor.run(on: store, seconds: seconds, batches: batches)
        syncs = store.syncs.sorted()
    } else {
        floor.run(on: SQLiteFloor(in: scratch), seconds: seconds, batches: batches)
    }
    let wall = clock(CLOCK_MONOTONIC) - began.wall
    let processor = clock(CLOCK_PROCESS_CPUTIME_ID) - began.processor
    print(
        "floor_logs_per_second=\(Int(Double(floor.logs) / wall))",
        "floor_cpu_seconds_per_million=\(processor / Double(floor.logs) * 1e6)",
        "raw_bytes_per_log=\(floor.rawBytes / floor.logs)",
        "compressed_to=\(Double(floor.storedBytes) / Double(floor.rawBytes))",
        "packets=\(floor.packets) commits=\(floor.commits)"
    )
    guard let longest = syncs.last else { return }
    print(
        "sync_p50_us=\(Int(syncs[syncs.count / 2] * 1e6))",
        "sync_p99_us=\(Int(syncs[syncs.count * 99 / 100] * 1e6))",
        "sync_longest_us=\(Int(longest * 1e6))"
    )
}

private struct Floor {
    /// As in the queue; batches share a row.
    private static let rowBytes = 64 << 10
    private static let packetBytes = 1 << 20

    private let files: [UnsafeMutableRawBufferPointer]
    private let decoder = JSONLogDecoder()
    private let trailer = GroupTrailer(topic: "app", source: "", tags: [])
    private var next = 0
    private var row: [UInt8] = []
    private var waitingBytes = 0
    private(set) var logs = 0
    private(set) var rawBytes = 0
    private(set) var storedBytes = 0
    private(set) var packets = 0
    private(set) var commits = 0

    init(_ files: [UnsafeMutableRawBufferPointer]) {
        self.files = files
    }

    mutating func run(on store: some FloorStore, seconds: Double, batches: Int) {
        let end = Moment.now + .milliseconds(Int64(seconds * 1000))
        while Moment.now < end {
            store.begin()
            for _ in 0..<batches { add(decodeNext(), to: store) }
            endRow(store)
            store.commit()
            commits += 1
            if waitingBytes > Self.packetBytes { deliver(from: store) }
        }
    }

    private mutating func decodeNext() -> EncodedLogs {
        let file = files[next % files.count]
        next += 1
        let body = UnsafeRawBufferPointer(rebasing: file[..<(file.count - 64)])
        guard let batch = try? decoder.decodePlain(LogBody(body, BatchTiming(arrival: .now))) else {
            fatalError("a body is not readable")
        }
        return batch.sound
    }

    private mutating func add(_ batch: EncodedLogs, to store: some FloorStore) {
        if row.count + batch.bytes.count > Self.rowBytes { endRow(store) }
        row.append(contentsOf: batch.bytes)
        logs += batch.count
    }

    private mutating func endRow(_ store: some FloorStore) {
        guard !row.isEmpty else { return }
        let block = LZ4.compress(row)
        store.append(block, rawBytes: row.count)
        rawBytes += row.count
        storedBytes += block.count
        waitingBytes += row.count
        row.removeAll(keepingCapacity: true)
    }

    private mutating func deliver(from store: some FloorStore) {
        // Equal parts, each of about the wanted size.
        let parts = max(1, (waitingBytes + Self.packetBytes / 2) / Self.packetBytes)
        let enough = (waitingBytes + parts - 1) / parts
        var packet: LZ4Stitcher?
        var packetBytes = 0
        store.readAll { block, rawBytes in
            if packetBytes == 0 { packet = LZ4Stitcher() }
            guard (try? packet?.append(Array(block), rawBytes: rawBytes)) != nil else {
                fatalError("a stored block is corrupt")
            }
            packetBytes += rawBytes
            waitingBytes -= rawBytes
            guard packetBytes >= enough || waitingBytes == 0 else { return }
            packet?.append(literal: trailer.bytes)
            guard packet.take()?.finish().body.isEmpty == false else {
                fatalError("a packet is empty")
            }
            packets += 1
            packetBytes = 0
        }
        guard waitingBytes == 0 else { fatalError("stored rows were not read") }
        store.removeRead()
    }
}

/// Each body has 64 spare bytes after it, which the decoder needs.
func readBodies(_ directory: String) -> [UnsafeMutableRawBufferPointer] {
    (0..<64)
        .map { number in
            guard let file = fopen("\(directory)/\(number).json", "r") else {
                fatalError("no bodies in \(directory)")
            }
            defer { fclose(file) }
            fseek(file, 0, SEEK_END)
            let count = ftell(file)
            rewind(file)
            let buffer = UnsafeMutableRawBufferPointer.allocate(
                byteCount: count + 64,
                alignment: 64
            )
            guard fread(buffer.baseAddress, 1, count, file) == count else {
                fatalError("\(directory)/\(number).json cannot be read")
            }
            return buffer
        }
}

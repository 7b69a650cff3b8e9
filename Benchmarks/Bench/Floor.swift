import CSQLite
import Crypto
import Glibc
import Logs
import System

/// The yardstick: one thread does only the work that every gateway must do.
///
/// JSON bodies to Log entries, lz4, SQLite commits of 32 batches with full sync, reading back,
/// stitching into packets of about 1 MiB, MD5, deleting. No HTTP, no queue, no signatures.
func runFloor(bodies: String, scratch: String, seconds: Double) {
    let files = readBodies(bodies)
    let store = FloorStore(path: "\(scratch)/floor.db")
    let decoder = JSONLogDecoder()
    let trailer = GroupTrailer(topic: "app", source: "", tags: [])
    let started = Moment.now
    let end = started + .milliseconds(Int64(seconds * 1000))
    var logs = 0
    var next = 0
    var digests = 0
    var waitingBytes = 0
    var rawBytes = 0
    var storedBytes = 0
    while Moment.now < end {
        store.run("BEGIN IMMEDIATE")
        for _ in 0..<32 {
            let file = files[next % files.count]
            next += 1
            guard
                let batch = try? decoder.decodePlain(
                    LogBody(
                        UnsafeRawBufferPointer(rebasing: file[..<(file.count - 64)]),
                        BatchTiming(arrival: .now)
                    )
                ).sound
            else { fatalError("a body is not readable") }
            let block = LZ4.compress(batch.bytes)
            store.insert(block, rawBytes: batch.bytes.count)
            rawBytes += batch.bytes.count
            storedBytes += block.count
            logs += batch.count
            waitingBytes += batch.bytes.count
        }
        store.run("COMMIT")
        guard waitingBytes > 1 << 20 else { continue }
        waitingBytes = 0
        var stitcher = LZ4Stitcher(expecting: 1 << 20)
        let last = store.readAll { block, rawBytes in
            guard (try? stitcher.append(block, rawBytes: rawBytes)) != nil else {
                fatalError("a stored block is corrupt")
            }
        }
        stitcher.append(literal: trailer.bytes)
        digests += Digest.md5(stitcher.finish().body).count
        store.delete(through: last)
    }
    let wall = Double((Moment.now - started).milliseconds) / 1000
    var usage = rusage()
    getrusage(__rusage_who_t(RUSAGE_SELF.rawValue), &usage)
    let processor =
        Double(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec)
        + Double(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6
    print(
        "floor_logs_per_second=\(Int(Double(logs) / wall))",
        "floor_cpu_seconds_per_million=\(processor / Double(logs) * 1e6)",
        "raw_bytes_per_log=\(rawBytes / logs)",
        "compressed_to=\(Double(storedBytes) / Double(rawBytes))",
        "packets=\(digests / 16)"
    )
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

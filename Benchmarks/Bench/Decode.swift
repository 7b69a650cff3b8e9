import Glibc
import Logs
import System

/// Measures the decoders alone, on one thread, with a gateway's rules: JSON, and the same logs in
/// an SDK's PutLogs form.
func runDecode(bodies: String, seconds: Double) {
    let files = readBodies(bodies).map { UnsafeRawBufferPointer(rebasing: $0[..<($0.count - 64)]) }
    let json = JSONLogDecoder()
    let rules = LogRules(times: .sls)
    func read(_ file: UnsafeRawBufferPointer) -> EncodedLogs {
        guard let logs = try? json.decodePlain(LogBody(file, BatchTiming(arrival: .now), rules))
        else {
            fatalError("a body is not readable")
        }
        return logs.sound
    }
    let putLogs = PutLogsDecoder()
    let trailer = GroupTrailer(topic: "app", source: "10.0.0.1", tags: [("env", "prod")])
    let groups = files.map { file in
        let group = read(file).bytes + trailer.bytes
        let copy = UnsafeMutableRawBufferPointer.allocate(byteCount: group.count, alignment: 1)
        copy.copyBytes(from: group)
        return UnsafeRawBufferPointer(copy)
    }
    var next = 0
    measure("decode", seconds) {
        next += 1
        let file = files[next % files.count]
        return (read(file).count, file.count)
    }
    measure("decode_putlogs", seconds) {
        next += 1
        let group = groups[next % groups.count]
        guard let logs = try? putLogs.decode(LogBody(group, BatchTiming(arrival: .now), rules))
        else {
            fatalError("a group is not readable")
        }
        return (logs.logs.sound.count, group.count)
    }
}

/// Repeats the work for so many seconds, and prints what it does in a second of this thread's
/// processor time.
func measure(_ name: String, _ seconds: Double, _ work: () -> (logs: Int, bytes: Int)) {
    var logs = 0
    var bytes = 0
    let start = processorSeconds()
    let end = Moment.now + .milliseconds(Int64(seconds * 1000))
    while Moment.now < end {
        for _ in 0..<64 {
            let done = work()
            logs += done.logs
            bytes += done.bytes
        }
    }
    let processor = processorSeconds() - start
    print(
        "\(name)_logs_per_cpu_second=\(Int(Double(logs) / processor))",
        "\(name)_bytes_per_cpu_second=\(Int(Double(bytes) / processor))"
    )
}

private func processorSeconds() -> Double {
    var time = timespec()
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
    return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
}

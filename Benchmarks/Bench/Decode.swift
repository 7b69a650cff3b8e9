import Glibc
import Logs
import System

/// The decoder alone, on one thread and with the rules of a gateway.
func runDecode(bodies: String, seconds: Double) {
    let files = readBodies(bodies)
    let decoder = JSONLogDecoder()
    var logs = 0
    var bytes = 0
    var next = 0
    let end = Moment.now + .milliseconds(Int64(seconds * 1000))
    while Moment.now < end {
        for _ in 0..<64 {
            let file = files[next % files.count]
            next += 1
            guard
                let batch = try? decoder.decodePlain(
                    UnsafeRawBufferPointer(rebasing: file[..<(file.count - 64)]),
                    BatchTiming(arrival: .now),
                    LogRules(times: .sls)
                ).sound
            else { fatalError("a body is not readable") }
            logs += batch.count
            bytes += file.count - 64
        }
    }
    var time = timespec()
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
    let processor = Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
    print(
        "decode_logs_per_cpu_second=\(Int(Double(logs) / processor))",
        "decode_bytes_per_cpu_second=\(Int(Double(bytes) / processor))"
    )
}

import Glibc
import System
import TestSupport
import Testing

@testable import Delivery

@Suite(
    .timeLimit(.minutes(10)),
    .enabled(if: sysconf(CInt(_SC_PAGESIZE)) == 4096, "a small pipe has pages of 4 KiB")
)
struct LineStreamTests {
    private let source: Int32
    private let sink: Int32

    init() {
        var ends: [Int32] = [0, 0]
        precondition(pipe(&ends) == 0, "a pipe")
        (source, sink) = (ends[0], ends[1])
        // F_SETPIPE_SZ: two pages, and each write begins another one.
        precondition(fcntl(sink, 1031, 8192) == 8192, "a small pipe")
    }

    private func line(_ letter: Character, _ count: Int) -> [UInt8] {
        Array(String(repeating: letter, count: count).utf8) + [10]
    }

    private func text(_ bytes: [UInt8]) -> String { String(decoding: bytes, as: UTF8.self) }

    /// What the reader gets until the pipe is empty or closed.
    private func taken() -> [UInt8] {
        var all: [UInt8] = []
        while true {
            var entry = pollfd(fd: source, events: Int16(POLLIN), revents: 0)
            guard poll(&entry, 1, 0) > 0 else { return all }
            var part = [UInt8](repeating: 0, count: 4096)
            let count = read(source, &part, part.count)
            guard count > 0 else { return all }
            all += part.prefix(count)
        }
    }

    @Test("A reader that is slow gets all of it")
    func slow() throws {
        let text = line("a", 100_000) + line("b", 10)
        let reader = SharedValue<[UInt8]>([])
        let worker = try Worker("reader") { [self] in
            while reader.now.count < text.count {
                let part = taken()
                reader.change { $0 += part }
                usleep(100)
            }
        }
        let stream = LineStream(sink)
        #expect(stream.write([text]) { false } == [nil])
        worker.join()
        #expect(self.text(reader.now) == self.text(text))
        close(source)
        close(sink)
    }

    @Test("A stuck reader is reported, and the same packet goes on where it stopped")
    func stuck() {
        let text = line("a", 5000) + line("b", 5000)
        let stream = LineStream(sink, patience: .milliseconds(10))
        #expect(
            stream.write([text, line("c", 1)]) { false }.map { $0?.code } == ["STUCK", "STUCK"]
        )
        var all = taken()
        #expect(self.text(all) == self.text(Array(text.prefix(8192))))
        #expect(stream.write([text]) { false } == [nil])
        all += taken()
        #expect(self.text(all) == self.text(text))
        #expect(stream.write([text]) { false }.map { $0?.code } == ["STUCK"])
        close(source)
        close(sink)
    }

    @Test("Another packet comes behind the end of the line that has begun")
    func another() {
        let text = line("a", 8500) + line("b", 2000)
        let stream = LineStream(sink, patience: .milliseconds(10))
        #expect(stream.write([text]) { false }.map { $0?.code } == ["STUCK"])
        var all = taken()
        #expect(stream.write([line("c", 3)]) { false } == [nil])
        all += taken()
        #expect(self.text(all) == self.text(line("a", 8500) + line("c", 3)))
        #expect(stream.write([line("d", 3)]) { false } == [nil])
        #expect(taken() == line("d", 3))
        close(source)
        close(sink)
    }

    @Test("A reader that has gone is a reason, and no signal")
    func gone() throws {
        let codes = SharedValue<[String?]>([])
        close(source)
        // A worker takes no signals.
        let worker = try Worker("writer") { [sink] in
            let problems = LineStream(sink).write([[65, 10]]) { false }
            codes.change { $0 = problems.map { $0?.code } }
        }
        worker.join()
        #expect(codes.now == ["EPIPE"])
        close(sink)
    }

    @Test("A stop ends the wait for a stuck reader")
    func stop() {
        let stream = LineStream(sink, patience: .seconds(600))
        #expect(stream.write([line("a", 10_000)]) { true }.map { $0?.code } == ["STUCK"])
        close(source)
        close(sink)
    }
}

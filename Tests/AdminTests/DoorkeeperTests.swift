import Net
import System
import Testing

@testable import Admin
@testable import Gateway
@testable import Operations

@Suite struct DoorkeeperTests {
    private let start = Moment(nanoseconds: 1_000_000_000_000)

    private func address(_ host: String) throws -> Neighbourhood {
        try #require(SocketAddress(host: host, port: 0)).neighbourhood
    }

    private func guess(_ number: Int) -> [UInt8] { Array("Bearer wrong \(number)".utf8) }

    @Test("Several different wrong tokens throttle an address, longer each time, up to a minute")
    func guessing() throws {
        var door = Doorkeeper()
        let guesser = try address("192.0.2.7")
        var now = start
        for number in 1...Doorkeeper.freeGuesses {
            let isClosed = door.refused(guess(number), from: guesser, now)
            #expect(!isClosed)
            #expect(door.wait(of: guesser, now) == nil)
        }
        var waits: [Duration] = []
        for number in 100..<110 {
            let isClosed = door.refused(guess(number), from: guesser, now)
            #expect(isClosed)
            let wait = try #require(door.wait(of: guesser, now))
            waits.append(wait)
            now = now + wait
            #expect(door.wait(of: guesser, now) == nil)
        }
        #expect(waits.prefix(3) == [.seconds(1), .seconds(2), .seconds(4)])
        #expect(waits.last == Doorkeeper.longestWait)
    }

    @Test("A script that repeats one old token is not throttled")
    func oldToken() throws {
        var door = Doorkeeper()
        let script = try address("127.0.0.1")
        for _ in 0..<1000 {
            let isClosed = door.refused(guess(1), from: script, start)
            #expect(!isClosed)
        }
        #expect(door.wait(of: script, start) == nil)
    }

    @Test("Scripts that alternate old tokens are not throttled, also after another's guesses")
    func oldTokens() throws {
        var door = Doorkeeper()
        let machine = try address("127.0.0.1")
        for round in 0..<1000 {
            let isClosed = door.refused(guess(round % 4), from: machine, start)
            #expect(!isClosed)
        }
        for number in 10..<13 { _ = door.refused(guess(number), from: machine, start) }
        let later = start + .seconds(10)
        #expect(door.wait(of: machine, later) == nil)
        let isClosed = door.refused(guess(1), from: machine, later)
        #expect(!isClosed && door.wait(of: machine, later) == nil)
    }

    @Test("A correct token or ten quiet minutes reset the throttle")
    func forgiven() throws {
        var door = Doorkeeper()
        let operatorsAddress = try address("192.0.2.7")
        for number in 1...5 { _ = door.refused(guess(number), from: operatorsAddress, start) }
        door.admitted(guess(0), from: operatorsAddress, forgiving: true)
        let isClosed = door.refused(guess(6), from: operatorsAddress, start)
        #expect(!isClosed)
        for number in 7...10 { _ = door.refused(guess(number), from: operatorsAddress, start) }
        let later = start + Doorkeeper.memory + .seconds(1)
        let isStillClosed = door.refused(guess(11), from: operatorsAddress, later)
        #expect(!isStillClosed)
    }

    @Test("A known token is not throttled when a neighbour guesses")
    func neighbour() throws {
        var door = Doorkeeper()
        let machine = try address("127.0.0.1")
        door.admitted(guess(0), from: machine, forgiving: false)
        for number in 1...20 { _ = door.refused(guess(number), from: machine, start) }
        #expect(door.wait(of: machine, start) != nil)
        #expect(door.hasAdmitted(guess(0), from: machine))
        #expect(!door.hasAdmitted(guess(1), from: machine))
        let elsewhere = try address("192.0.2.7")
        #expect(!door.hasAdmitted(guess(0), from: elsewhere))
        for number in 0..<1000 {
            door.admitted(guess(number), from: elsewhere, forgiving: false)
        }
        #expect(!door.hasAdmitted(guess(0), from: machine))
    }

    @Test("Addresses of one v6 network share their throttle")
    func network() throws {
        var door = Doorkeeper()
        for number in 1...6 {
            _ = door.refused(guess(number), from: try address("2001:db8::\(number)"), start)
        }
        #expect(door.wait(of: try address("2001:db8::ffff"), start) != nil)
        #expect(door.wait(of: try address("2001:db8:0:1::1"), start) == nil)
    }

    @Test("A flood of addresses is bounded and does not lift an existing throttle")
    func flood() throws {
        var door = Doorkeeper()
        let guesser = try address("192.0.2.7")
        for number in 1...12 { _ = door.refused(guess(number), from: guesser, start) }
        for number in 0..<5000 {
            let other = try address("10.0.\(number / 250).\(number % 250 + 1)")
            _ = door.refused(guess(number), from: other, start + .milliseconds(number))
        }
        #expect(door.wait(of: guesser, start + .seconds(5)) != nil)
        #expect(door.visitorCount <= Doorkeeper.addressesMax)
    }
}

import System
import Testing

@testable import HTTPClient

@Suite(.timeLimit(.minutes(10))) struct TransferLoopTests {
    @Test("A wake ends the next wait, though the loop has looked at its events since")
    func wake() throws {
        let loop = try TransferLoop(connections: 1)
        loop.wake()
        #expect(loop.perform() == 0)
        loop.wait(.seconds(600))
        loop.wake()
        loop.wait(.seconds(600))
    }
}

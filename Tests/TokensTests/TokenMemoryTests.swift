import System
import Testing

@testable import Tokens

@Suite struct TokenMemoryTests {
    private func verify(_ memory: TokenMemory, _ token: String, at now: WallTime = Samples.now)
        -> Result<VerifiedToken, TokenProblem>
    {
        Result { () throws(TokenProblem) in try memory.verify(Array(token.utf8)[...], at: now) }
    }

    @Test("A good token is remembered until it ends, a bad one not at all")
    func remembered() throws {
        let memory = TokenMemory(try Samples.rules(.es256))
        #expect(verify(memory, Samples.es256 + "A") == .failure(.untrusted))
        #expect(memory.count == 0)
        for _ in 0..<3 {
            #expect((try? verify(memory, Samples.es256).get())?.end == 1_300_819_440)
        }
        #expect(memory.count == 1)
        let late = WallTime(seconds: 1_300_819_440)
        #expect(verify(memory, Samples.es256, at: late) == .failure(.expired))
        let long = String(repeating: "a", count: 8193)
        #expect(verify(memory, long) == .failure(.unreadable))
    }

    @Test("There is room for so many, and those that are used stay")
    func bounded() throws {
        let memory = TokenMemory(try Samples.rules(.hs256), tokensMax: 40)
        let used = Samples.token(#"{"exp":1300819380}"#)
        for number in 0..<200 {
            let token = Samples.token(#"{"exp":1300819380,"jti":"\#(number)"}"#)
            #expect((try? verify(memory, token).get()) != nil)
            if number % 10 == 0 { #expect((try? verify(memory, used).get()) != nil) }
            #expect(memory.count <= 40)
        }
        #expect(memory.count > 20)
    }
}

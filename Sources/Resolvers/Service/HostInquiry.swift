import HTTPClient
package import Net
import System

/// What an operator asked: a resolver's answer for a host, with each address tried.
package struct InquiryAnswer: Sendable {
    package struct Trial: Sendable {
        package let address: IPAddress
        package let timeToLive: Duration
        package let connectTime: Duration?
        /// Why there is no connection, or the certificate is refused; nil if all is well.
        package let problem: String?
    }

    package let resolver: String
    package let took: Duration
    package let trials: [Trial]
    /// Why there are no addresses.
    package let problem: String?
}

/// Asks resolvers for a host beside the cache, and connects to each address with TLS, so that an
/// operator sees what a sender would meet. For the resolvers' thread only.
final class HostInquiry {
    private let host: String
    private let port: Int
    /// Certificates to trust; nil: no TLS.
    private let trust: TransferOptions.Trust?
    private let whenDone: ([InquiryAnswer]) -> Void
    private var answers: [InquiryAnswer] = []
    private var expected: Int
    private var transfers: [ObjectIdentifier: Transfer] = [:]

    private static let patience: Duration = .seconds(3)

    init(
        _ host: String,
        port: Int,
        trust: TransferOptions.Trust?,
        resolvers: Int,
        whenDone: @escaping ([InquiryAnswer]) -> Void
    ) {
        self.host = host
        self.port = port
        self.trust = trust
        expected = resolvers
        self.whenDone = whenDone
    }

    func failed(_ resolver: String, _ problem: String, since began: Moment) {
        add(InquiryAnswer(resolver: resolver, took: .now - began, trials: [], problem: problem))
    }

    func answered(
        _ resolver: String,
        _ answer: HostAnswer,
        since began: Moment,
        _ loop: TransferLoop
    ) {
        let took = .now - began
        let addresses = answer.addresses
        guard !addresses.isEmpty else {
            let problem = "it knows no address"
            return add(InquiryAnswer(resolver: resolver, took: took, trials: [], problem: problem))
        }
        var trials: [InquiryAnswer.Trial] = []
        for address in addresses {
            let time = (address.isV4 ? answer.v4 : answer.v6)?.timeToLive ?? .zero
            attempt(address, loop) { [self] connectTime, problem in
                trials.append(
                    InquiryAnswer.Trial(
                        address: address,
                        timeToLive: time,
                        connectTime: connectTime,
                        problem: problem
                    )
                )
                guard trials.count == addresses.count else { return }
                add(InquiryAnswer(resolver: resolver, took: took, trials: trials, problem: nil))
            }
        }
    }

    private func attempt(
        _ address: IPAddress,
        _ loop: TransferLoop,
        whenDone: @escaping (Duration?, String?) -> Void
    ) {
        let transfer = Transfer(
            probing: address,
            of: host,
            port: port,
            trust: trust,
            patience: Self.patience
        )
        transfers[ObjectIdentifier(transfer)] = transfer
        loop.start(transfer) { [self] transfer, outcome in
            transfers[ObjectIdentifier(transfer)] = nil
            switch outcome {
            case .answered(let response): whenDone(response.route.connectTime, nil)
            case .failed(let failure):
                let detail = failure.detail.isEmpty ? failure.code.description : failure.detail
                whenDone(failure.route.connectTime, detail)
            }
        }
    }

    private func add(_ answer: InquiryAnswer) {
        answers.append(answer)
        expected -= 1
        if expected == 0 { whenDone(answers) }
    }
}

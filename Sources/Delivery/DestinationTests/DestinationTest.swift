package import HTTPClient
import System

/// The result of a test of a destination. A test delivers no log.
package struct DestinationTest: Sendable, Equatable {
    package var destination: String
    /// Where the logs go: the endpoint, the file, or "stdout".
    package var endpoint: String
    package var verdict: CredentialProof.Verdict
    package var status: Int?
    package var code: String?
    /// What was found, in a sentence. For SLS its own words, where it used any.
    package var message: String
    package var requestID: String?
    package var remedy: String

    /// An operator waits for the answer.
    package static let patience: Duration = .seconds(15)
    static let noRemedy = "none needed"
}

extension DestinationTest {
    /// The test of a destination of kind sls is a signed request without logs.
    package init(_ proof: CredentialProof) {
        self.init(
            destination: proof.destination,
            endpoint: proof.endpoint,
            verdict: proof.verdict,
            status: proof.status,
            code: proof.code,
            // The proof's message says "stored", which would mislead: no log was sent.
            message: proof.verdict == .accepted
                ? "SLS accepts a signed request. No log was sent" : proof.message,
            requestID: proof.requestID,
            remedy: proof.remedy
        )
    }

    init(_ destination: String, at endpoint: String, fine message: String) {
        self.init(
            destination: destination,
            endpoint: endpoint,
            verdict: .accepted,
            status: nil,
            code: nil,
            message: message,
            requestID: nil,
            remedy: Self.noRemedy
        )
    }

    init(
        _ destination: String,
        at endpoint: String,
        _ problem: WriteProblem,
        _ verdict: CredentialProof.Verdict = .refused
    ) {
        self.init(
            destination: destination,
            endpoint: endpoint,
            verdict: verdict,
            status: nil,
            code: problem.code,
            message: problem.message,
            requestID: nil,
            remedy: problem.remedy
        )
    }
}

/// Tests destinations that need no credential, as they are configured. For a thread that may wait.
package struct DestinationTester: Sendable {
    private let userAgent: String
    private let addresses: AddressLookup
    private let patience: Duration
    private let isInterrupted: @Sendable () -> Bool
    /// A file system that does not answer holds the thread that asked it. No second thread joins
    /// it.
    private let isInspecting = Locked(false)

    package init(
        userAgent: String,
        addresses: AddressLookup = .system,
        patience: Duration = DestinationTest.patience,
        isInterrupted: @escaping @Sendable () -> Bool = { false }
    ) {
        self.userAgent = userAgent
        self.addresses = addresses
        self.patience = patience
        self.isInterrupted = isInterrupted
    }

    /// Tests a destination of a kind other than sls. Throws when the test cannot be made.
    package func test(_ settings: DestinationSettings) throws(DeliveryError) -> DestinationTest {
        switch settings.target {
        case .sls: throw DeliveryError(description: "this kind is tested with its credential")
        case .http(let target):
            return try HTTPInspection(settings, target, userAgent)
                .result(addresses, patience, isInterrupted)
        case .file(let target):
            return try inspect {
                FileInspection(target).result(of: settings.name)
            } late: {
                DestinationTest(
                    settings.name,
                    at: target.path,
                    .silent(target, patience),
                    .undecided
                )
            }
        case .stdout: return StdoutInspection().result(of: settings.name)
        }
    }

    private func inspect(
        _ look: @escaping @Sendable () -> DestinationTest,
        late: () -> DestinationTest
    ) throws(DeliveryError) -> DestinationTest {
        let isFree = isInspecting.withLock { isBusy in
            defer { isBusy = true }
            return !isBusy
        }
        guard isFree else {
            throw DeliveryError(
                description:
                    "an earlier test of a file still waits for its file system; check the mounts"
            )
        }
        do throws(SystemError) {
            let result = try Promise<DestinationTest>()
            let worker = try Worker("file-test") { [isInspecting] in
                let found = look()
                isInspecting.withLock { $0 = false }
                result.bring(found)
            }
            worker.leave()
            return result.wait(atMost: patience) ?? late()
        } catch {
            isInspecting.withLock { $0 = false }
            throw DeliveryError(description: "the test cannot start: \(error)")
        }
    }
}

extension WriteProblem {
    fileprivate static func silent(_ target: FileTarget, _ patience: Duration) -> WriteProblem {
        WriteProblem(
            code: "TIMEOUT",
            message: "\(target.path): the file system gave no answer for \(spanText(patience))",
            remedy: "check the disk, or the network file system, that holds the path"
        )
    }
}

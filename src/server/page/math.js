/** math.js: formulas in the part of LaTeX that answers are full of, as MathML, which browsers set themselves. What has a command that is
 *  not known here is shown as it was written. */

const SPACE = 'http://www.w3.org/1998/Math/MathML';

const NAMES = `alpha α beta β gamma γ delta δ epsilon ϵ varepsilon ε zeta ζ eta η theta θ iota ι kappa κ lambda λ mu μ nu ν xi ξ pi π rho ρ sigma σ tau τ
upsilon υ phi ϕ varphi φ chi χ psi ψ omega ω Gamma Γ Delta Δ Theta Θ Lambda Λ Xi Ξ Pi Π Sigma Σ Phi Φ Psi Ψ Omega Ω infty ∞ partial ∂ nabla ∇ ell ℓ hbar ℏ emptyset ∅`;
const SIGNS = `cdot ⋅ times × div ÷ pm ± mp ∓ le ≤ leq ≤ ge ≥ geq ≥ ne ≠ neq ≠ approx ≈ equiv ≡ sim ∼ propto ∝ to → rightarrow → leftarrow ← Rightarrow ⇒ implies ⇒
Leftrightarrow ⇔ iff ⇔ mapsto ↦ in ∈ notin ∉ subset ⊂ subseteq ⊆ cup ∪ cap ∩ forall ∀ exists ∃ neg ¬ land ∧ lor ∨ wedge ∧ vee ∨ sum ∑ prod ∏ int ∫ ldots … dots … cdots ⋯
mid ∣ circ ∘ langle ⟨ rangle ⟩ lfloor ⌊ rfloor ⌋ lceil ⌈ rceil ⌉ quad \u2003 qquad \u2003 ll ≪ gg ≫ star ⋆ oplus ⊕ otimes ⊗ perp ⊥ prime ′`;
const WORDS = new Set('sin cos tan log ln exp max min lim det arg sup inf gcd deg dim ker tanh sinh cosh argmax argmin'.split(' '));

/** @param {string} list @returns {Map<string, string>} */
function pairs(list) {
    const words = list.split(/[ \n]+/);
    return new Map(words.filter((_, i) => i % 2 === 0).map((word, i) => [word, words[2 * i + 1]]));
}
const names = pairs(NAMES), signs = pairs(SIGNS);

/** @param {string} name @param {...(Node | string)} children */
function ml(name, ...children) {
    const made = document.createElementNS(SPACE, name);
    made.append(...children);
    return made;
}

class Unknown extends Error {}

/** @type {boolean | undefined} */
let has_radicals;

/** Without a font for formulas a browser draws no radical at all, and the root of 2 reads as 2. */
function drawsRadicals() {
    if (has_radicals !== undefined) return has_radicals;
    const inside = ml('mn', '2'), root = ml('msqrt', inside), probe = ml('math', root);
    probe.setAttribute('class', 'unseen');
    document.body.append(probe);
    has_radicals = root.getBoundingClientRect().width > 1.3 * inside.getBoundingClientRect().width;
    probe.remove();
    return has_radicals;
}

/** @param {Element} of @param {Element | null} index */
function root(of, index) {
    if (drawsRadicals()) return index ? ml('mroot', of, index) : ml('msqrt', of);
    const sign = ml('mo', '\u221a');
    return ml('mrow', index ? ml('msup', ml('mtext', ''), index) : '', sign, ml('mo', '('), of, ml('mo', ')'));
}

/** @param {string} text @returns {string[]} */
function wordsOf(text) {
    return text.match(/\\[A-Za-z]+|\\.|\d+(?:\.\d+)?|\s+|[^]/gu) || [];
}

class Reader {
    /** @param {string} text */
    constructor(text) {
        this.words = wordsOf(text);
        this.at = 0;
        this.depth = 0;
    }

    skip() {
        while (/^\s+$/.test(this.words[this.at] || '')) this.at++;
    }

    /** @param {string} until @returns {Element} */
    row(until) {
        const row = ml('mrow');
        if (++this.depth > 40) throw new Unknown();
        for (this.skip(); this.at < this.words.length && this.words[this.at] !== until; this.skip()) row.append(this.scripted());
        if (until && this.words[this.at++] !== until) throw new Unknown();
        this.depth--;
        return row;
    }

    /** One thing and what stands above and below it. @returns {Element} */
    scripted() {
        const base = this.one();
        /** @type {Record<string, Element>} */
        const has = {};
        for (this.skip(); this.words[this.at] === '^' || this.words[this.at] === '_'; this.skip()) {
            const mark = this.words[this.at++];
            if (has[mark]) throw new Unknown();
            has[mark] = this.one();
        }
        if (/^[\u2211\u220f]$/.test(base.textContent || '') && base.localName === 'mo') /* their limits stand above and below where there is room */
            return has['^'] && has._ ? ml('munderover', base, has._, has['^']) : has['^'] ? ml('mover', base, has['^']) : has._ ? ml('munder', base, has._) : base;
        if (has['^'] && has._) return ml('msubsup', base, has._, has['^']);
        return has['^'] ? ml('msup', base, has['^']) : has._ ? ml('msub', base, has._) : base;
    }

    /** @returns {Element} */
    one() {
        this.skip();
        const word = this.words[this.at++];
        if (word === undefined || /^[}^_&%#]$/.test(word)) throw new Unknown();
        if (word === '{') return this.row('}');
        if (word[0] === '\\') return this.command(word.slice(1));
        if (/^\d/.test(word)) return ml('mn', word);
        return /^\p{L}$/u.test(word) ? ml('mi', word) : ml('mo', word);
    }

    /** @param {string} name @returns {Element} */
    command(name) {
        if (names.has(name)) return ml('mi', /** @type {string} */ (names.get(name)));
        if (signs.has(name)) return ml('mo', /** @type {string} */ (signs.get(name)));
        if (WORDS.has(name)) return ml('mi', name);
        if (/^[,;:! ]$/.test(name)) return ml('mo', '\u2009');
        if (/^[{}%$#&_]$/.test(name)) return ml('mo', name);
        if (/^[dt]?frac$/.test(name)) return ml('mfrac', this.one(), this.one());
        if (name === 'sqrt') return this.root();
        if (/^(text|mathrm|mathbf|mathit|mathcal|mathbb|operatorname|boxed)$/.test(name)) return name === 'boxed' ? this.one() : ml('mtext', this.braced());
        if (/^(hat|bar|vec|tilde|overline)$/.test(name)) return ml('mover', this.one(), ml('mo', { hat: '^', bar: '¯', vec: '→', tilde: '~', overline: '¯' }[name] || ''));
        if (name === 'left' || name === 'right') {
            const word = this.words[this.at++] || '';
            return ml('mo', word === '.' ? '' : word.replace(/^\\(?=[{}|])/, ''));
        }
        throw new Unknown();
    }

    /** @returns {Element} */
    root() {
        this.skip();
        const has_index = this.words[this.at] === '[';
        if (has_index) this.at++;
        const index = has_index ? this.row(']') : null;
        return root(this.one(), index);
    }

    /** @returns {string} */
    braced() {
        this.skip();
        if (this.words[this.at++] !== '{') throw new Unknown();
        let text = '';
        while (this.at < this.words.length && this.words[this.at] !== '}') text += this.words[this.at++];
        if (this.words[this.at++] !== '}') throw new Unknown();
        return text;
    }
}

/** @param {string} text @param {boolean} is_block @returns {Node} */
export function math(text, is_block) {
    const source = text.trim();
    try {
        if (source.length > 2000) throw new Unknown();
        const made = ml('math', new Reader(source).row(''));
        if (is_block) made.setAttribute('display', 'block');
        return made;
    } catch (error) {
        if (!(error instanceof Unknown)) throw error;
        const code = document.createElement('code');
        code.textContent = source;
        return code;
    }
}
